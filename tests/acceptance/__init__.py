"""Tests written from the text of the requirement documents, not from our code.

Each test says by `@states(place, …)` which names, fields, defaults, paths or status codes of a
document it holds the product to. `python -m tests.acceptance` prints the list.
"""
