"""Households: what runs in them, who is in, what attackers see of it in the releases."""
