"""Linked data: persons and other identifiers as RDF, and the vocabulary that they are told in."""
