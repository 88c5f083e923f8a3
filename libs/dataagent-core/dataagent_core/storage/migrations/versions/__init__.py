"""The steps from an empty database to the present tables, one file each."""
