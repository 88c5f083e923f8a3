"""`sources`, `schema`, `sql`, `export`: data from the shell, and after a slash."""
