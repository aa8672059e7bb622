"""Words and numbers for people: what a policy promises, what it tells and what was spent. Pure."""
