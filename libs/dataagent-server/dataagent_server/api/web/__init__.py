"""`/api`: the routes of the web app."""
