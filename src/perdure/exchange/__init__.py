"""What others read and write: formats in which identifiers move in and out. Pure: lines in, lines out."""
