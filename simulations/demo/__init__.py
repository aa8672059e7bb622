"""What `deploy/demo` shows: a street of homes, the agent at work, and what an attacker sees."""
