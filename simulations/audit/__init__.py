"""The promise, audited from outside: what `sanitize` publishes of two worlds, and nothing else."""
