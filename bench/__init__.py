"""What a turn costs here, against the bare agent loop, in one run: `python -m bench`.

Every figure is a ratio of two things measured moments apart on the same machine, so it means the
same on a slow one. Each part is a module that reports rows; `__main__` prints them as one table.

    throughput      a   turns per second through our doors, against the bare `astream`
    provider        a   the same with a model behind HTTP, against the endpoint everyone writes
    streams         b   how many streams one process carries
    memory          c   what a session weighs
    growth          d   what one more turn costs in a long session, or beside many others
    cold_start      e   how long a program takes to answer

Below: `bare` and `load` are processes that do the work and measure it (`meter`); `processes` starts
them, `agents` and `yardstick` are what we compare with, `report` is the table.
"""
