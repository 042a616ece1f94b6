"""Authentication: Perdure keys, passwords, challenge–response proofs, sessions and client certificates."""

from perdure.http.auth.authenticator import NOT_VERIFIED, Authenticator
from perdure.http.auth.credentials import parse_handle_parameters
from perdure.http.auth.sessions import Session, Sessions

__all__ = ["NOT_VERIFIED", "Authenticator", "Session", "Sessions", "parse_handle_parameters"]
