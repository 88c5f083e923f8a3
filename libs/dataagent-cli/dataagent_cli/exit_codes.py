"""The exit statuses of the program."""

OK = 0
FAILED = 1
USAGE = 2
CANCELLED = 3
INTERRUPTED = 130
