"""DataAgent in the terminal. Stays empty, so that `dataagent --help` loads only what it needs."""
