"""The address of a PostgreSQL store: a connection string of libpq, and the registry's schema in that database."""

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
_SCHEMA_PARAMETER: Final = re.compile(r"([?&])schema=([^&]*)")
_TLS_MODES: Final = frozenset({"require", "verify-ca", "verify-full"})
_LONGEST_SCHEMA: Final = 63
_LOCAL_HOSTS: Final = ("", "localhost", "127.0.0.1", "::1")


class Address(NamedTuple):
    """A parsed address. `conninfo` may contain a password and is never shown; `display_name` is for messages."""

    conninfo: str
    schema: str
    display_name: str

    def with_temporary_schema(self, purpose: str) -> "Address":
        """Return the address of a schema for an unfinished store, with a name that no registry can have."""
        return self._replace(schema=check_schema_length(f"{self.schema}${purpose}"))

    @property
    def environment(self) -> dict[str, str]:
        """The address as environment variables for libpq's programs; a command line is readable by all users."""
        defaults = {option.keyword.decode(): option.envvar for option in Conninfo.get_defaults()}
        given = conninfo_to_dict(self.conninfo)
        return {name.decode(): str(value) for key, value in given.items() if (name := defaults.get(key)) is not None}

    @property
    def has_password(self) -> bool:
        return not _secret_parameters().isdisjoint(conninfo_to_dict(self.conninfo))

    @property
    def is_open_to_eavesdroppers(self) -> bool:
        """Whether the connection uses a network without requiring TLS."""
        parts = conninfo_to_dict(self.conninfo)
        hosts = str(parts.get("host") or "").split(",")
        is_far = any(host not in _LOCAL_HOSTS and not host.startswith("/") for host in hosts)
        return is_far and parts.get("sslmode") not in _TLS_MODES


def check_schema_length(schema: str) -> str:
    """Return the name of a schema; refuse one that PostgreSQL would truncate, and confuse with another."""
    if len(schema) > _LONGEST_SCHEMA:
        raise _invalid_address(f"the schema name is too long by {len(schema) - _LONGEST_SCHEMA} characters")
    return schema


def parse(text: str) -> Address:
    """Parse `postgresql://user@host:port/database?schema=…&sslmode=…`; libpq defines all parameters but `schema`."""
    if not text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES)):
        raise _invalid_address("it must begin with postgresql://")
    given = _SCHEMA_PARAMETER.findall(text)
    schema = given[-1][1] if given else DEFAULT_SCHEMA
    if _SCHEMA.fullmatch(schema) is None:
        raise _invalid_address(
            "a schema name must have 1 to 63 lower-case letters, digits or underscores, and must not begin with a digit"
        )
    theirs = _SCHEMA_PARAMETER.sub(r"\1", text).replace("?&", "?").rstrip("?&")
    try:
        parts = conninfo_to_dict(theirs)
    except ProgrammingError:  # its message may contain the password
        raise _invalid_address(
            "libpq cannot parse it; in a password, write %40 for @, %2F for / and %3A for :"
        ) from None
    ports = str(parts.get("port") or "0").split(",")
    if not all(not port or port.isdecimal() for port in ports) or any(
        "@" in str(parts.get(part)) for part in ("host", "dbname")
    ):
        raise _invalid_address("the port is not a number; in a password, write %40 for @, %2F for / and %3A for :")
    return Address(make_conninfo("", **parts), schema, _format_public_address(parts, schema))


def _format_public_address(parts: Mapping[str, Any], schema: str) -> str:
    """Write the address for messages, from the parts that libpq has parsed, without secrets."""
    public = {name: str(value) for name, value in parts.items() if name not in _secret_parameters()}
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
def _secret_parameters() -> frozenset[str]:
    """Return the parameters that libpq itself hides."""
    return frozenset(option.keyword.decode() for option in Conninfo.get_defaults() if option.dispchar == b"*")


def _invalid_address(why: str) -> InvalidInput:
    reason = f"invalid database address: {why}. Example: postgresql://user@host:5432/database"
    return InvalidInput("settings", "store", reason)
