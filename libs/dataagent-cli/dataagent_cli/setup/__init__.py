"""`init`, `doctor` and `completion`: setting up the program on this machine."""
