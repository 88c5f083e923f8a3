"""How long a test waits for something that must happen before it is taken for hung."""

WAIT_SECONDS = 300.0
