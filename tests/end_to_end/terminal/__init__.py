"""The terminal as a person uses it: keys in, a screen out."""
