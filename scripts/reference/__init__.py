"""The reference pages of the documentation, each made from the code it describes.

One module a page, with a function `page()` that gives its whole text; `__main__` writes or compares
them. Nothing of a page is written by hand, so nothing of it can fall behind.
"""
