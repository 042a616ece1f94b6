"""What only a door of HTTP refuses: errors of the exchange itself, not of what it is about."""

from perdure.errors import BadKey, Conflict, NoSuchName, PerdureError, shown


class Malformed(PerdureError):
    """The request cannot be understood."""

    code = "malformed-request"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class BodyTooLarge(PerdureError):
    """The body, or this part of it, is longer than this door takes."""

    code = "body-too-large"

    def __init__(self, most: int, part: str | None = None) -> None:
        super().__init__(most, part)
        self.most = most
        self.part = part

    def __str__(self) -> str:
        return f"the {f'part {self.part}' if self.part else 'body'} is longer than {self.most} bytes"


class ContentTooLarge(BodyTooLarge):
    """The file is longer than this door hashes."""

    def __init__(self, most: int) -> None:
        super().__init__(most, "content")
        self.args = (most,)

    def __str__(self) -> str:
        return f"the content is longer than {self.most} bytes: give its SHA-256 as content_hash in its place"


class BodyTooSlow(PerdureError):
    """The rest of the body did not come in time."""

    code = "body-too-slow"

    def __str__(self) -> str:
        return "the rest of the body did not come in time"


class BodyBelowRate(BodyTooSlow):
    """The body of a bulk request came too slowly."""

    def __init__(self, least: int) -> None:
        super().__init__(least)
        self.least = least  # bytes a second

    def __str__(self) -> str:
        return (
            f"the rest of the body did not come in time, or came slower than {self.least} bytes a second: what came "
            "before may have been written. Send it again, and what is there already is left as it is"
        )


class UnsupportedBody(PerdureError):
    """The body is of a kind that this door does not read."""

    code = "unsupported-body"

    def __init__(self, needed: str) -> None:
        super().__init__(needed)
        self.needed = needed

    def __str__(self) -> str:
        return f"the body must be {self.needed}"


class EncodedBody(UnsupportedBody):
    """The body is compressed or encoded in a way that is not undone here."""

    code = "encoded-body"

    def __init__(self, encoding: str) -> None:
        super().__init__("sent without Content-Encoding")
        self.args = (encoding,)
        self.encoding = encoding

    def __str__(self) -> str:
        return f"the body must be sent as it is, without Content-Encoding: {shown(self.encoding)} is not read here"


class MethodNotAllowed(PerdureError):
    """There is something here, but this cannot be done to it."""

    code = "method-not-allowed"

    def __init__(self, method: str, allowed: tuple[str, ...]) -> None:
        super().__init__(method, allowed)
        self.method = method
        self.allowed = allowed

    def __str__(self) -> str:
        return f"{self.method} is not possible here, only {', '.join(self.allowed)}"


class NothingHere(PerdureError):
    """No door of this server is at that path."""

    code = "nothing-here"

    def __str__(self) -> str:
        return "there is nothing at this address"


class Reserved(NoSuchName):
    """The name is kept free for something, and stands for nothing yet."""

    code = "reserved"

    def __str__(self) -> str:
        return f"{shown(self.name)} is reserved, and stands for nothing yet"


class AliasChainTooLong(NoSuchName):
    """The name is an alias of an alias, and so on, without an end or for too long."""

    code = "alias-chain-too-long"

    def __str__(self) -> str:
        return f"alias chain too long: {shown(self.name)} leads from alias to alias, and does not arrive"


class NotNegotiable(PerdureError):
    """None of the forms that the client accepts can be given."""

    code = "not-acceptable"

    def __init__(self, available: tuple[str, ...], places: tuple[str, ...] = ()) -> None:
        super().__init__(available, places)
        self.available = available
        self.places = places  # where each of them is, if every form has an address of its own

    def __str__(self) -> str:
        return f"only these can be given: {', '.join(self.available)}"


class PlainCredentials(PerdureError):
    """Credentials came over a connection that others can read along, so they were not looked at."""

    code = "credentials-in-the-clear"

    def __str__(self) -> str:
        return (
            "credentials are not accepted over plain HTTP, except on this machine: use https, "
            "or say plain_credentials = true under [http] in the settings"
        )


class NotForThisClient(PerdureError):
    """What is counted is shown to the machines that the settings name, and to no other."""

    code = "not-for-this-client"

    def __str__(self) -> str:
        return (
            "what is counted is shown to this machine only, unless metrics_clients under [http] in the settings names "
            "others"
        )


class FromAnotherSite(PerdureError):
    """A browser sends it for a page of another site, which nobody here has asked to write."""

    code = "from-another-site"

    def __str__(self) -> str:
        return "a page of another site may not send forms here: send it from this site, or not from a browser"


class CredentialsNeeded(BadKey):
    """Nobody has said who is asking."""

    code = "credentials-needed"

    def __init__(self) -> None:
        super().__init__("none was given")

    def __str__(self) -> str:
        return "this needs credentials, and none were given"


class TooManyAttempts(PerdureError):
    """Credentials were wrong too often."""

    code = "too-many-attempts"

    def __init__(self, wait: float) -> None:
        super().__init__(wait)
        self.wait = wait  # seconds

    def __str__(self) -> str:
        return f"credentials were wrong too often: try again in {self.wait:.0f} s"


class TooManyAtOnce(PerdureError):
    """The client already has as many of these requests under way as one client may."""

    code = "too-many-at-once"

    def __init__(self, what: str, source: str = "client") -> None:
        super().__init__(what, source)
        self.what, self.source = what, source

    def __str__(self) -> str:
        return f"too many {self.what} came at once from the same {self.source}: try again when others are answered"


class TooBusy(PerdureError):
    """The server already has as many of these requests waiting as it allows."""

    code = "too-busy"

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what

    def __str__(self) -> str:
        return f"too many {self.what} are waiting: try again later"


class TookTooLong(PerdureError):
    """The server's own time for one request has passed. What was to be written may have been, or may yet be."""

    code = "took-too-long"

    def __init__(self, is_write: bool = False) -> None:
        super().__init__(is_write)
        self.is_write = is_write

    def __str__(self) -> str:
        if self.is_write:
            return (
                "this took longer than a request may take, and whether it was done is not known: look before trying "
                "again, or mint with an Idempotency-Key"
            )
        return "this took longer than a request may take; nothing is known to be wrong with it, so try again"


class PreconditionNeeded(PerdureError):
    """What is there must not be changed without saying which version of it is meant."""

    code = "precondition-needed"

    def __str__(self) -> str:
        return (
            "say which version this changes, so that nobody's work is overwritten unseen: If-Match with the ETag of "
            "what you have read, or If-Match: * for whatever is there"
        )


class Outdated(Conflict):
    """Somebody has changed it since: read it again, and decide."""


class ClientGone(Exception):
    """Nobody is waiting for the answer any more."""
