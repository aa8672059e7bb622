"""Other ways to publish the same averages: what they hide, and at which error."""
