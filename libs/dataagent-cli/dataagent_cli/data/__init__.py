"""Commands over data: from the shell, and after a slash."""
