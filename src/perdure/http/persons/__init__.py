"""Persons at their own addresses (PPID, section 6): in every form, at every version, and at every time."""

from perdure.http.persons.door import person
from perdure.http.persons.memento import varying
from perdure.http.persons.vocabulary import words

__all__ = ["person", "varying", "words"]
