"""Where a PostgreSQL store is: an address as libpq reads it, and the schema in that database that is ours."""

import re
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from perdure.errors import InvalidInput

SCHEMES: Final = ("postgresql", "postgres")
DEFAULT_SCHEMA: Final = "perdure"
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,29}")  # leaves room for what is put behind it while it is replaced
_SECRET: Final = frozenset({"password", "sslpassword"})
_VERIFIED: Final = frozenset({"require", "verify-ca", "verify-full"})
_HERE: Final = ("", "localhost", "127.0.0.1", "::1")


class Address(NamedTuple):
    """`conninfo` may hold a password and is shown to nobody; `shown` is for messages."""

    conninfo: str
    schema: str
    shown: str

    def with_schema(self, schema: str) -> "Address":
        return self._replace(schema=schema)

    @property
    def environment(self) -> dict[str, str]:
        """The same for libpq's own programs, whose command line everybody can read."""
        defaults = {one.keyword.decode(): one.envvar for one in Conninfo.get_defaults()}
        given = conninfo_to_dict(self.conninfo)
        return {name.decode(): str(value) for key, value in given.items() if (name := defaults.get(key)) is not None}

    @property
    def has_password(self) -> bool:
        return not _SECRET.isdisjoint(conninfo_to_dict(self.conninfo))

    @property
    def is_open_to_eavesdroppers(self) -> bool:
        """Whether it leads over a network without TLS being demanded."""
        parts = conninfo_to_dict(self.conninfo)
        hosts = str(parts.get("host") or "").split(",")
        is_far = any(host not in _HERE and not host.startswith("/") for host in hosts)
        return is_far and parts.get("sslmode") not in _VERIFIED


def parse(text: str) -> Address:
    """`postgresql://user@host:port/database?schema=…&sslmode=…`; everything but `schema` is libpq's own."""
    try:
        parts = urlsplit(text)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise _refused("it cannot be read") from None
    if parts.scheme not in SCHEMES:
        raise _refused("it begins with postgresql://")
    schema = dict(given).get("schema", DEFAULT_SCHEMA)
    if _SCHEMA.fullmatch(schema) is None:
        raise _refused(
            "the schema must have 1 to 30 lower-case letters, digits or underscores, and begin with no digit"
        )
    ours = [(name, value) for name, value in given if name != "schema"]
    try:
        conninfo = make_conninfo(parts._replace(query=urlencode(ours, quote_via=quote)).geturl())
    except ProgrammingError as problem:
        raise _refused(_without_secrets(str(problem), parts)) from None
    return Address(conninfo, schema, _shown(parts, given))


def _shown(parts: SplitResult, given: list[tuple[str, str]]) -> str:
    host = parts.netloc.rpartition("@")[2]
    user = parts.netloc.rpartition("@")[0].partition(":")[0]
    public = [(name, value) for name, value in given if name not in _SECRET]
    query = urlencode(public, quote_via=quote, safe="/")
    return parts._replace(netloc=f"{user}@{host}" if user else host, query=query).geturl()


def _without_secrets(said: str, parts: SplitResult) -> str:
    """libpq may repeat what it could not read."""
    secret = parts.netloc.rpartition("@")[0].partition(":")[2]
    return "libpq cannot read it" if secret and secret in said else said.strip()


def _refused(why: str) -> InvalidInput:
    reason = f"the address of the database is not right: {why}; it looks like postgresql://user@host:5432/database"
    return InvalidInput("settings", "store", reason)
