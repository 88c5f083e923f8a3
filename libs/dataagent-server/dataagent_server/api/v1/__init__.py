"""`/api/v1`: the door for integrators."""
