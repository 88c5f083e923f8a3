"""What comes in and what goes out, as Pydantic models."""
