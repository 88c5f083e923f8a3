"""What the program's exit status says, for scripts. Plain numbers, no imports."""

OK = 0
FAILED = 1
USAGE = 2
CANCELLED = 3
INTERRUPTED = 130
