"""What the doors are given: the container and the providers that read from it."""
