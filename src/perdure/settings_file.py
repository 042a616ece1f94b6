"""`perdure.toml`: the settings of a registry, for the operator to edit."""

import re
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput, StoreUnavailable, quote_text
from perdure.http_options import HttpOptions
from perdure.records.authority_metadata import DEFAULT_TYPE_PREFIX
from perdure.records.namespaces import ClassesNamespace, ModelNamespace, Namespaces, PropertiesNamespace
from perdure.records.validation import Limits
from perdure.registry import Settings
from perdure.registry.person_iris import PersonIriSettings
from perdure.registry.settings import LargestGap, LongestWait, StepsAhead, TypePrefix, UnusualSources
from perdure.store.file_sync import write_atomically
from perdure.store.open_location import parse_postgres_address
from perdure.store.postgres.postgres_options import PostgresOptions

SETTINGS: Final = "perdure.toml"
DATABASE: Final = "perdure.db"
DEFAULT_STORE: Final = f"sqlite:{DATABASE}"

_DAY: Final = 86_400
_NAMESPACES: Final = Namespaces()
_STORE_LINE: Final = re.compile(r"""^\s*store\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*')""", re.MULTILINE)

_TEMPLATE: Final = """\
# The settings of a Perdure registry. A setting behind a # is a default or an example: remove the # to set it.
# The reference of settings lists all keys, defaults and limits.

[registry]
# The identity of this registry. A database or a key of another registry is refused.
id = {id}
# The database: sqlite: and a file in the same folder as this file, or postgresql://user@host:5432/database.
# Do not edit this: change it with perdure move, which copies everything.
store = {store}

[metadata]
# The prefix of the value types that hold authority metadata in Handle records.
type_prefix = {type_prefix}

[persons]
# The base of the IRIs of persons in linked data. It was chosen when the registry was created, or is the public_url
# below if that is set before the first person is registered. Then it is fixed for life: another value is refused.
{person_iris}# The namespaces of their properties and classes, and of the model that these extend.
# ppidv = "https://ppid.org/vocab#"
# ppidt = "https://ppid.org/type#"
# picom = "https://personsincontext.org/model#"
# Schemes without a web address that the source of a new observation may have: "urn", "mailto".
# unusual_sources = []

[minting]
# Maximum number of seconds that minting waits for the next free date before it fails.
# longest_wait = 10.0
# A client of an IBI subsystem may choose to wait longer (Prefer: wait, respond-async): by at most this many steps of
# its granularity. With a granularity of 60 seconds, 60 steps are an hour.
# steps_ahead = 60
# Minting is refused if the clock is more than this many days ahead of the last date of a timeline.
# largest_gap_days = 3653.0

[limits]
# The URL schemes that a target may have. javascript: and data: are always refused.
# schemes = ["http", "https", "ftp", "mailto"]
# value_bytes = 65536
# values = 2048
# record_bytes = 1048576
# url_characters = 8192
# The bytes that one agent may upload into collections. 0: no limit. See also perdure agent quota.
# agent_bytes = 0

[http]
# The base URL at which readers reach the resolver, if it is not the address it listens on. A URL below it is accepted
# wherever a name is. Example:
{public_url}
# The resolver to which names with an unknown prefix are redirected. Without it, they are not found. Example:
# upstream = "https://hdl.handle.net"
# Time limits in seconds for other servers (perdure peer): for an answer, and for which answers are used again.
# peer_seconds = 2.0
# peer_cache_seconds = 30.0
# peer_missing_seconds = 5.0
# Seconds for which browsers may repeat a redirect without asking the server again. 0: a change is visible at once.
# redirect_seconds = 0
# The e-mail or web address of the operator, for pages and problem documents. Example:
# contact = "archive@example.org"
# The reverse proxies, by IP address or network. Only their Forwarded or X-Forwarded-For header is trusted. Without
# such a header from them, the client is unknown, and never this machine. Default: none. Example:
# trusted_proxies = ["127.0.0.1"]
# The header in which they pass a client's certificate on (URL-encoded PEM). No header is trusted unless it is named
# here. Name one only if every proxy above overwrites it; otherwise a client can forge a certificate.
# certificate_header = ""
# If true, credentials over plain HTTP are accepted from other machines too.
# plain_credentials = false
# The origins of the web pages that may write with credentials. All pages may read what is public. Default: none.
# cors_origins = ["https://deposit.example.org"]
# The clients that may read /metrics, by IP address or network.
# metrics_clients = ["127.0.0.0/8", "::1"]
# With --tls-cert: the max-age of Strict-Transport-Security, in seconds. 0 does not send it.
# hsts_seconds = 0
# access_log = true
# If false, resolutions are not counted.
# statistics = true
# body_bytes = 4194304
# The largest file that can be uploaded with an observation, to be hashed.
# content_bytes = 1073741824
# The largest file that can be uploaded into an item, and the days after which an upload that does not go on is removed.
# upload_bytes = 137438953472
# upload_days = 7.0
# request_seconds = 30.0
# idle_seconds = 75.0
# connections = 10000

[postgresql]
# Connections for reads, and for searches. Lookups use two more, and writes one more.
# connections = 4
# search_connections = 2
# Timeouts in seconds: to connect, for a statement, for a statement that reads everything (backup, export, verify), for
# a lock of another program, and for the outcome of a commit during which the connection was lost.
# connect_seconds = 5.0
# statement_seconds = 30.0
# long_statement_seconds = 21600.0
# lock_seconds = 10.0
# settle_seconds = 30.0
# The number of hash partitions of names; used only when perdure move creates a database.
# partitions = 8
"""


class _RegistrySection(msgspec.Struct, forbid_unknown_fields=True):
    """The registry and its store."""

    id: Annotated[str, Meta(description="Identity of the registry; a database or a key of another is refused.")]
    store: Annotated[
        str, Meta(description="Location of the database: sqlite:FILE or postgresql://…; change it with perdure move.")
    ] = DEFAULT_STORE


class _MintingSection(msgspec.Struct, forbid_unknown_fields=True):
    """The clock and the wait for a new name."""

    longest_wait: LongestWait = 10.0
    steps_ahead: StepsAhead = 60
    largest_gap_days: LargestGap = 3653.0


class _MetadataSection(msgspec.Struct, forbid_unknown_fields=True):
    """Authority metadata in Handle records."""

    type_prefix: TypePrefix = DEFAULT_TYPE_PREFIX


class _PersonsSection(msgspec.Struct, forbid_unknown_fields=True):
    """Persons in linked data, and their sources."""

    ppid: Annotated[
        str,
        Meta(
            description="Base of the IRIs of persons. It is fixed when the registry is created, and another value is "
            "refused. In registries from before version 0.3, it governs, with the default https://ppid.org/."
        ),
    ] = ""
    ppidv: PropertiesNamespace = _NAMESPACES.ppidv
    ppidt: ClassesNamespace = _NAMESPACES.ppidt
    picom: ModelNamespace = _NAMESPACES.picom
    unusual_sources: UnusualSources = ()

    @property
    def namespaces(self) -> Namespaces:
        return Namespaces(self.ppid or _NAMESPACES.ppid, self.ppidv, self.ppidt, self.picom)


class SettingsFile(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file."""

    registry: _RegistrySection
    metadata: _MetadataSection = msgspec.field(default_factory=_MetadataSection)
    minting: _MintingSection = msgspec.field(default_factory=_MintingSection)
    persons: _PersonsSection = msgspec.field(default_factory=_PersonsSection)
    limits: Limits = Limits()
    http: HttpOptions = HttpOptions()
    postgresql: PostgresOptions = PostgresOptions()

    @property
    def settings(self) -> Settings:
        minting = self.minting
        for name, least in (("longest_wait", 0), ("largest_gap_days", 0), ("steps_ahead", 1)):
            if not least <= getattr(minting, name) <= _DAY:  # which refuses NaN too
                raise InvalidInput("settings", name, f"{name} in {SETTINGS} must be between {least} and {_DAY}")
        return Settings(
            self.limits,
            self.metadata.type_prefix,
            minting.longest_wait,
            minting.largest_gap_days,
            minting.steps_ahead,
            self.persons.namespaces,
            self.persons.unusual_sources,
        )

    @property
    def person_iris(self) -> PersonIriSettings:
        return PersonIriSettings(self.persons.ppid, self.http.public_url)


def read_settings(folder: Path) -> SettingsFile:
    path = folder / SETTINGS
    try:
        return msgspec.toml.decode(path.read_bytes(), type=SettingsFile)
    except FileNotFoundError:
        raise InvalidInput(
            "registry", "folder", f"no registry found in {quote_text(str(folder))}: create one with perdure init"
        ) from None
    except OSError as problem:
        raise StoreUnavailable(f"{SETTINGS} cannot be read: {problem.strerror}") from None
    except msgspec.DecodeError as problem:
        raise InvalidInput("settings", SETTINGS, f"invalid setting in {SETTINGS}: {problem}") from None


def write_settings(
    folder: Path, *, id: str, store: str, type_prefix: str, public_url: str = "", person_iris: str = ""
) -> None:
    write_settings_text(folder, fill_template(id, store, type_prefix, public_url, person_iris), store)


def fill_template(id: str, store: str, type_prefix: str, public_url: str = "", person_iris: str = "") -> str:
    """Return the text of the settings of a new registry."""
    return _TEMPLATE.format(
        id=quote_toml(id),
        store=quote_toml(store),
        type_prefix=quote_toml(type_prefix),
        public_url=f"public_url = {quote_toml(public_url)}"
        if public_url
        else '# public_url = "https://id.example.org"',
        person_iris=f"ppid = {quote_toml(person_iris)}\n" if person_iris else "",
    )


def write_settings_text(folder: Path, text: str, store: str) -> None:
    """Write the settings. Only the owner can read them if the store has a password."""
    write_atomically(folder / SETTINGS, text, _file_mode(store))


def write_store(folder: Path, store: str) -> None:
    """Write another store into the settings. Permissions that the operator has restricted stay so."""
    path = folder / SETTINGS
    write_atomically(path, with_store(folder, store), _file_mode(store) & path.stat().st_mode)


def with_store(folder: Path, store: str) -> str:
    """Return the text of the settings with another store; all other lines stay as the operator has written them."""
    text = (folder / SETTINGS).read_text()
    line = f"store = {quote_toml(store)}"
    if _STORE_LINE.search(text):
        text = _STORE_LINE.sub(lambda _: f"\n{line}" if _[0].startswith("\n") else line, text, count=1)
    else:  # the setting is not in the file
        text = re.sub(r"^\[registry\][^\n]*", lambda match: f"{match[0]}\n{line}", text, count=1, flags=re.MULTILINE)
    try:
        if msgspec.toml.decode(text.encode(), type=SettingsFile).registry.store == store:
            return text
    except msgspec.DecodeError:
        pass
    reason = f'the store in {SETTINGS} cannot be changed: write it as a line store = "…" under [registry]'
    raise InvalidInput("settings", "store", reason)


def _file_mode(store: str) -> int:
    address = parse_postgres_address(store)
    return 0o600 if address is not None and address.has_password else 0o644


def quote_toml(text: str) -> str:
    """Return a text as a basic string of TOML."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")  # otherwise the syntax is that of JSON
