"""Other libraries of this field, beside this one on the same task."""
