"""What a turn costs here, against the bare agent loop, in one run: `python -m bench`.

Most figures are ratios of two things measured moments apart on the same machine, so they mean the
same on a slow one; where the product promises a time or a size, that is measured. Each part is a
module that reports rows; `__main__` prints them as one table.

    throughput      a   turns per second through our doors, against the bare `astream`
    provider        a   the same with a model behind HTTP, against the endpoint everyone writes
    streams         b   how many streams one process carries
    memory          c   what a session weighs
    growth          d   what one more turn costs in a long session, or beside many others
    cold_start      e   how long a program takes to answer
    restart         e   how soon a killed server is there again
    cancel          f   how soon a run is stopped
    rows            g   a million rows through the data room
    crowd           h   many people at one process
    sandbox         i   code in the sandbox, against a plain interpreter
    workers         j   two workers against one
    mcp             k   a call through our hub, against the SDK alone
    web             l   what the web app loads, and how fast it answers
    terminal        m   the terminal from nothing
    harbor          n   what Harbor adds to what it measures
    attacks         o   how soon the server answers while one user attacks

Below: `bare`, `load` and those named `…_side` are processes that do the work and measure it
(`meter`); `processes` starts them, `agents`, `bare_question` and `yardstick` are what we compare
with. `report` is the table, `page` the same to look at, `history` what was kept of earlier runs.
"""
