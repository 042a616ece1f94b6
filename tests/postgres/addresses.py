"""Addresses of databases as Perdure writes them: a PostgreSQL URL, with the schema as one more parameter."""

from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit


def address_of(server: str, database: str | None = None, schema: str | None = None) -> str:
    """Return the address of a database, and of a schema in it, on the server of an address; other parameters stay."""
    parts = urlsplit(server)
    if database is not None:
        parts = parts._replace(path="/" + quote(database, safe=""))
    return _with(parts, schema=schema)


def address_through(address: str, host_and_port: str, **parameters: str | None) -> str:
    """Return the address at another host:port, with these parameters; those that are None are removed."""
    parts = urlsplit(address)
    user = parts.netloc.rpartition("@")[0]
    return _with(parts._replace(netloc=f"{user}@{host_and_port}" if user else host_and_port), **parameters)


def _with(parts: SplitResult, **changes: str | None) -> str:
    remaining = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in changes]
    given = [(name, value) for name, value in changes.items() if value is not None]
    return urlunsplit(parts._replace(query=urlencode(remaining + given, quote_via=quote)))
