"""Where a PostgreSQL store is: an address as libpq reads it, and the schema in that database that is ours."""

import re
from collections.abc import Mapping
from functools import cache
from itertools import zip_longest
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo

from perdure.errors import InvalidInput

SCHEMES: Final = ("postgresql", "postgres")
DEFAULT_SCHEMA: Final = "perdure"
_SCHEMA: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OURS: Final = re.compile(r"([?&])schema=([^&]*)")
_VERIFIED: Final = frozenset({"require", "verify-ca", "verify-full"})
_LONGEST: Final = 63
_HERE: Final = ("", "localhost", "127.0.0.1", "::1")


class Address(NamedTuple):
    """`conninfo` may hold a password and is shown to nobody; `shown` is for messages."""

    conninfo: str
    schema: str
    shown: str

    def beside(self, purpose: str) -> "Address":
        """A schema for something unfinished, which no registry can be called by."""
        return self._replace(schema=checked_length(f"{self.schema}${purpose}"))

    @property
    def environment(self) -> dict[str, str]:
        """The same for libpq's own programs, whose command line everybody can read."""
        defaults = {one.keyword.decode(): one.envvar for one in Conninfo.get_defaults()}
        given = conninfo_to_dict(self.conninfo)
        return {name.decode(): str(value) for key, value in given.items() if (name := defaults.get(key)) is not None}

    @property
    def has_password(self) -> bool:
        return not _secrets().isdisjoint(conninfo_to_dict(self.conninfo))

    @property
    def is_open_to_eavesdroppers(self) -> bool:
        """Whether it leads over a network without TLS being demanded."""
        parts = conninfo_to_dict(self.conninfo)
        hosts = str(parts.get("host") or "").split(",")
        is_far = any(host not in _HERE and not host.startswith("/") for host in hosts)
        return is_far and parts.get("sslmode") not in _VERIFIED


def checked_length(schema: str) -> str:
    """PostgreSQL would cut a longer name, and take it for another."""
    if len(schema) > _LONGEST:
        raise _refused(f"the name of the schema is too long: it must leave {len(schema) - _LONGEST} characters more")
    return schema


def parse(text: str) -> Address:
    """`postgresql://user@host:port/database?schema=…&sslmode=…`; everything but `schema` is libpq's own."""
    if not text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        raise _refused("it begins with postgresql://")
    given = _OURS.findall(text)
    schema = given[-1][1] if given else DEFAULT_SCHEMA
    if _SCHEMA.fullmatch(schema) is None:
        raise _refused("a schema has 1 to 63 lower-case letters, digits or underscores, and begins with no digit")
    theirs = _OURS.sub(r"\1", text).replace("?&", "?").rstrip("?&")
    try:
        parts = conninfo_to_dict(theirs)
    except ProgrammingError:  # whose message may repeat the password
        raise _refused("libpq cannot read it; in a password, write %40 for @, %2F for / and %3A for :") from None
    ports = str(parts.get("port") or "0").split(",")
    if not all(not port or port.isdecimal() for port in ports) or any(
        "@" in str(parts.get(one)) for one in ("host", "dbname")
    ):
        raise _refused("the port is no number; in a password, write %40 for @, %2F for / and %3A for :")
    return Address(make_conninfo("", **parts), schema, _shown(parts, schema))


def _shown(parts: Mapping[str, Any], schema: str) -> str:
    """The address for messages, put together from what libpq has understood: nothing secret, and nothing half-read."""
    public = {name: str(value) for name, value in parts.items() if name not in _secrets()}
    hosts = public.pop("host", "").split(",")
    ports = public.pop("port", "").split(",")
    if any(host.startswith("/") for host in hosts):  # a socket
        public |= {"host": ",".join(hosts)} | ({"port": ",".join(ports)} if ports != [""] else {})
        where = ""
    else:
        where = ",".join(f"{host}:{port}" if port else host for host, port in zip_longest(hosts, ports, fillvalue=""))
    user, database = public.pop("user", ""), public.pop("dbname", "")
    if schema != DEFAULT_SCHEMA:
        public["schema"] = schema
    query = urlencode(public, quote_via=quote, safe="/")
    return f"postgresql://{f'{quote(user)}@' if user else ''}{where}/{quote(database)}{f'?{query}' if query else ''}"


@cache
def _secrets() -> frozenset[str]:
    """What libpq itself would not show."""
    return frozenset(one.keyword.decode() for one in Conninfo.get_defaults() if one.dispchar == b"*")


def _refused(why: str) -> InvalidInput:
    reason = f"the address of the database is not right: {why}; it looks like postgresql://user@host:5432/database"
    return InvalidInput("settings", "store", reason)
