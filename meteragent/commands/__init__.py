"""One module per command: `run(arguments)` does it and answers with its exit code."""
