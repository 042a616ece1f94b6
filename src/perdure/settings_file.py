"""`perdure.toml`: the settings of a registry, for people to edit."""

import re
from pathlib import Path
from typing import Final

import msgspec

from perdure.errors import InvalidInput, StoreUnavailable, shown
from perdure.http_options import HttpOptions
from perdure.records.authority import DEFAULT_TYPE_PREFIX
from perdure.records.checks import Limits
from perdure.records.iris import Namespaces
from perdure.registry import Settings
from perdure.store.folders import write_whole
from perdure.store.places import postgres_address
from perdure.store.postgres.options import PostgresOptions

SETTINGS: Final = "perdure.toml"
DATABASE: Final = "perdure.db"
DEFAULT_STORE: Final = f"sqlite:{DATABASE}"

_DAY: Final = 86_400
_STORE_LINE: Final = re.compile(r"""^\s*store\s*=\s*(?:"(?:[^"\\]|\\.)*"|'[^']*')""", re.MULTILINE)

_TEMPLATE: Final = """\
# The settings of a Perdure registry. Lines that begin with # show the defaults; remove the # to change one.

[registry]
# Who this registry is. The database and the keys carry the same; they refuse those of another.
id = "{id}"
# Where identifiers are kept: sqlite: and a file beside this one, or postgresql://user@host:5432/database.
# To change it, do not edit it: perdure move takes everything there.
store = {store}

[metadata]
# The prefix of the types in which authority metadata is written into Handle records.
type_prefix = {type_prefix}

[persons]
# The addresses by which linked data knows persons, and the words about them.
# ppid = "https://ppid.org/"
# ppidv = "https://ppid.org/vocab#"
# ppidt = "https://ppid.org/type#"
# picom = "https://personsincontext.org/model#"

[minting]
# How many seconds a caller is made to wait for a date that has not come, before an error says so.
# longest_wait = 10.0
# A clock that is so many days after the last date of a timeline is not believed.
# largest_gap_days = 3653.0

[limits]
# The schemes that a target may have. javascript: and data: are refused whatever is written here.
# schemes = ["http", "https", "ftp", "mailto"]
# value_bytes = 65536
# values = 2048
# record_bytes = 1048576
# url_characters = 8192

[http]
# Where readers reach the resolver, if that is another address than the one it listens on.
# public_url = "https://id.example.org"
# Where to send readers with names whose prefix is not kept here; without it they are told so.
# upstream = "https://hdl.handle.net"
# Who runs it, for pages and problem documents: an address to write to.
# contact = "archive@example.org"
# The proxies in front, by address or network. Only they are believed about who the client is (Forwarded or
# X-Forwarded-For); without such a header from them the client is unknown, and never this machine.
# trusted_proxies = ["127.0.0.1"]
# The header in which they pass a client's certificate on (URL-encoded PEM). None is believed unless it is named
# here; name it only if every proxy above overwrites it, or whoever sends it can be anybody.
# certificate_header = ""
# Credentials over plain HTTP are accepted from this machine only, unless this is true.
# plain_credentials = false
# Who may read /metrics, by address or network: this machine, unless others are named.
# metrics_clients = ["127.0.0.0/8", "::1"]
# With --tls-cert: for how many seconds browsers are told to use https only. 0 tells them nothing.
# hsts_seconds = 0
# access_log = true
# body_bytes = 4194304
# A file that is uploaded with an observation, to be hashed.
# content_bytes = 1073741824
# request_seconds = 30.0
# idle_seconds = 75.0
# connections = 10000

[postgresql]
# Connections for reading, and for searching; beside them two look names up, and one writes.
# connections = 4
# search_connections = 2
# How long to wait, in seconds: for a connection, for an answer, for an answer that goes over everything (backup,
# export, verify), for what another program holds, and for word of a commit whose answer was lost.
# connect_seconds = 5.0
# statement_seconds = 30.0
# long_statement_seconds = 21600.0
# lock_seconds = 10.0
# settle_seconds = 30.0
# Into how many partitions names are spread; it counts when perdure move makes a database.
# partitions = 8
"""


class _RegistrySection(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    store: str = DEFAULT_STORE


class _MintingSection(msgspec.Struct, forbid_unknown_fields=True):
    longest_wait: float = 10.0
    largest_gap_days: float = 3653.0


class _MetadataSection(msgspec.Struct, forbid_unknown_fields=True):
    type_prefix: str = DEFAULT_TYPE_PREFIX


class SettingsFile(msgspec.Struct, forbid_unknown_fields=True):
    """What the file says."""

    registry: _RegistrySection
    metadata: _MetadataSection = msgspec.field(default_factory=_MetadataSection)
    minting: _MintingSection = msgspec.field(default_factory=_MintingSection)
    persons: Namespaces = Namespaces()
    limits: Limits = Limits()
    http: HttpOptions = HttpOptions()
    postgresql: PostgresOptions = PostgresOptions()

    @property
    def settings(self) -> Settings:
        minting = self.minting
        for name, most in (("longest_wait", _DAY), ("largest_gap_days", _DAY)):
            if not 0 <= getattr(minting, name) <= most:  # what is no number is refused too
                raise InvalidInput("settings", name, f"{name} in {SETTINGS} must be between 0 and {most}")
        return Settings(
            self.limits, self.metadata.type_prefix, minting.longest_wait, minting.largest_gap_days, self.persons
        )


def read_settings(folder: Path) -> SettingsFile:
    path = folder / SETTINGS
    try:
        return msgspec.toml.decode(path.read_bytes(), type=SettingsFile)
    except FileNotFoundError:
        raise InvalidInput(
            "registry", "folder", f"there is no registry in {shown(str(folder))}: make one with perdure init"
        ) from None
    except OSError as problem:
        raise StoreUnavailable(f"{SETTINGS} cannot be read: {problem.strerror}") from None
    except msgspec.DecodeError as problem:
        raise InvalidInput("settings", SETTINGS, f"{SETTINGS} is not right: {problem}") from None


def write_settings(folder: Path, *, id: str, store: str, type_prefix: str) -> None:
    text = _TEMPLATE.format(id=id, store=_quoted(store), type_prefix=_quoted(type_prefix))
    write_whole(folder / SETTINGS, text, _mode(store))


def change_store(folder: Path, store: str) -> None:
    """Name another store. Whoever has made the file less readable than we would keeps it so."""
    path = folder / SETTINGS
    write_whole(path, changed_store(folder, store), _mode(store) & path.stat().st_mode)


def changed_store(folder: Path, store: str) -> str:
    """The settings with another store. Only that line: what people have written beside it stays."""
    text = (folder / SETTINGS).read_text()
    line = f"store = {_quoted(store)}"
    if _STORE_LINE.search(text):
        text = _STORE_LINE.sub(lambda _: f"\n{line}" if _[0].startswith("\n") else line, text, count=1)
    else:  # it was left to its default
        text = re.sub(r"^\[registry\][^\n]*", lambda match: f"{match[0]}\n{line}", text, count=1, flags=re.MULTILINE)
    try:
        if msgspec.toml.decode(text.encode(), type=SettingsFile).registry.store == store:
            return text
    except msgspec.DecodeError:
        pass
    reason = f'the store in {SETTINGS} cannot be changed: write it as a line store = "…" under [registry]'
    raise InvalidInput("settings", "store", reason)


def _mode(store: str) -> int:
    address = postgres_address(store)
    return 0o600 if address is not None and address.has_password else 0o644


def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()  # TOML's basic strings are written as JSON's are
