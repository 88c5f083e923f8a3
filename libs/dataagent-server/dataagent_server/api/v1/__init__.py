"""`/api/v1`: the routes for integrators."""
