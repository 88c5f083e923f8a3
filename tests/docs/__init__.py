"""The documentation as a test: its blocks run, its names exist, its site builds."""
