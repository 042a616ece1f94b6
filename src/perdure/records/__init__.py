"""The record of an identifier: values, authority metadata, and the inputs of person identifiers."""
