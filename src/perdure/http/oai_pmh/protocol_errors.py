"""The errors of OAI-PMH (section 3.6). They are elements of a response with status 200."""

from typing import Literal

Code = Literal[
    "badArgument",
    "badResumptionToken",
    "badVerb",
    "cannotDisseminateFormat",
    "idDoesNotExist",
    "noRecordsMatch",
]


class ProtocolError(Exception):
    """An error of a harvester: its code, and a sentence that says what is wrong."""

    def __init__(self, code: Code, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
