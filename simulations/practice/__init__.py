"""What is published of groups of homes today, attacked by taking one sum from another."""
