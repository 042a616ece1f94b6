"""Parsing, writing and checking of identifiers. Pure functions: no clock, no I/O."""

from perdure.names import external, handle, ibi, pilin, ppid
from perdure.names.recognise import recognise
from perdure.names.recognition_result import Recognition

__all__ = ["Recognition", "external", "handle", "ibi", "pilin", "ppid", "recognise"]
