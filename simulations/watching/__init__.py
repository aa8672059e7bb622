"""A fleet that is worth watching: short budgets, broken records, comings and goings."""
