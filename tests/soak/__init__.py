"""A long day at a site that keeps falling over: `python -m tests.soak --minutes 10`.

People talk through every door (`users.py`) while processes, databases and servers are killed
(`chaos.py`); at the end everything that was acknowledged is looked for (`checks.py`).
"""
