"""File formats for the import and export of identifiers and observations. Pure functions over lines."""
