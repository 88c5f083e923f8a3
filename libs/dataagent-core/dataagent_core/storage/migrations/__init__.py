"""What Alembic runs: its environment and, in `versions/`, the steps."""
