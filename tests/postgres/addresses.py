"""Addresses of databases, as Perdure writes them: a PostgreSQL address, with the schema as one more parameter."""

from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit


def address_of(server: str, database: str | None = None, schema: str | None = None) -> str:
    """The address of one database, and of one schema in it, on the server of that address; other parameters stay."""
    parts = urlsplit(server)
    if database is not None:
        parts = parts._replace(path="/" + quote(database, safe=""))
    return _with(parts, schema=schema)


def address_through(address: str, place: str, **parameters: str | None) -> str:
    """The same, at another place (host:port), and with these parameters; those that are None are left out."""
    parts = urlsplit(address)
    user = parts.netloc.rpartition("@")[0]
    return _with(parts._replace(netloc=f"{user}@{place}" if user else place), **parameters)


def _with(parts: SplitResult, **changes: str | None) -> str:
    kept = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in changes]
    given = [(name, value) for name, value in changes.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode(kept + given, quote_via=quote)))
