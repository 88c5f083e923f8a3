"""`init`, `doctor`, `completion`: making the program ready on this machine."""
