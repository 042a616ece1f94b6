"""Persons at their own URLs (PPID, section 6): in every format, at every version, and at every time."""
