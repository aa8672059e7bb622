"""What releases are good for beside what they tell: every preset, on one page."""
