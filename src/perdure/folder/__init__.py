"""The folder of a registry: create, open, restore and move it."""
