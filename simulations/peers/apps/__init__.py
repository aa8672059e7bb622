"""Each peer's own program; they run in environments of their own."""
