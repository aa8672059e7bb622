"""Choosing a policy: the cheapest one under which no attack does better than guessing."""
