"""The types of the bodies that clients send and receive. The OpenAPI document is built from them."""
