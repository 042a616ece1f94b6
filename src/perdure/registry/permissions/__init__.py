"""Agents and their keys, and the permissions that grants and HS_ADMIN values give them."""
