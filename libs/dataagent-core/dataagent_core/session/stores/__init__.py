"""Session and message stores: memory, Redis and SQL, one file each."""
