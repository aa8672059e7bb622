"""Television: what a meter tells of a programme, who can read it, and what noise leaves of it."""
