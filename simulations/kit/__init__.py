"""What every simulation shares: traces, the product in one call, statistics, pictures, results."""
