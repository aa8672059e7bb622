"""What releases are still good for: bills, peaks, forecasts, feeders."""
