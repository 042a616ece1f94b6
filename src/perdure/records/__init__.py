"""What is said of an identifier: values, authority metadata, what a person identifier was made from."""
