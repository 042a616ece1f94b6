"""The comparison of a password with the stored secret, in constant time."""

import hmac
import os
from functools import cache


def is_same_secret(given: bytes, secret: bytes | None) -> bool:
    """Compare two secrets in a time that depends on neither, nor on their length, nor on whether there is one.

    Passwords beyond ASCII are sent in UTF-8 or, by older clients, in Latin-1.
    """
    pepper = _pepper()
    expected = hmac.digest(pepper, secret or pepper, "sha256")
    as_sent = hmac.compare_digest(hmac.digest(pepper, given, "sha256"), expected)
    from_latin = given.decode("latin-1").encode("utf-8")
    as_latin = hmac.compare_digest(hmac.digest(pepper, from_latin, "sha256"), expected)
    return (as_sent or as_latin) and bool(secret)


@cache
def _pepper() -> bytes:
    return os.urandom(32)
