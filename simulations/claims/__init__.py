"""What is claimed of presets, held against trials through the program, and against other traces."""
