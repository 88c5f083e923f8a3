"""Whole servers on loopback: what holds only when all parts work together."""
