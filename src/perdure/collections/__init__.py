"""Collections: directories that hold items under their IBI labels, each a valid OCFL 1.1 storage root.

Specifications: https://ocfl.io/1.1/spec/ and, for bags, RFC 8493.
"""
