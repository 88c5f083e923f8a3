"""The program inside the wall: runs untrusted code and reports how it ended.

It stands alone: the standard library only, nothing of DataAgent, because it runs where DataAgent is
not. `python -m runner fork` serves many sessions, each a fork in namespaces of its own
(bubblewrap); `python -m runner single` is one session on stdin and stdout (a container). Outside,
only `frames` and `seccomp` are imported, which are pure.

    zygote   imports what code usually needs, once; forks a session on request; runs no user code
    home     a session's namespaces, tmpfs and overlay
    session  trusted: one request at a time, deadlines, limits, clean-up, harvest
    job      one run of a cell or a command, with its deadline, limits and output
    kernel   untrusted from the first cell on: runs each cell in a fork of the last good state
    walls    what a process applies to itself before user code: limits, no rights, seccomp
"""
