"""One page of everything that was simulated, for whoever has to decide or to approve."""
