"""Who is asking: keys of Perdure, passwords, proofs and sessions of Handle clients, and certificates."""

from perdure.http.authentication.authenticator import NOT_VERIFIED, Authenticator
from perdure.http.authentication.credentials import handle_parameters
from perdure.http.authentication.sessions import Session, Sessions

__all__ = ["NOT_VERIFIED", "Authenticator", "Session", "Sessions", "handle_parameters"]
