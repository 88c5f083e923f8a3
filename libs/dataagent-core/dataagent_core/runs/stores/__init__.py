"""Run stores: memory, Redis and SQL, one file each."""
