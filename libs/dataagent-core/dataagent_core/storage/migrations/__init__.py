"""Alembic's environment and, in `versions/`, the migrations."""
