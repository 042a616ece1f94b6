"""Request schemas, one for each body. The OpenAPI document is generated from them."""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput
from perdure.formats.strict_json import refuse_duplicate_keys
from perdure.http.api.schemas.agents import AGENT_REQUEST_SCHEMAS
from perdure.http.api.schemas.bulk_changes import BulkChangeRequest
from perdure.http.api.schemas.handed_originals import ORIGINAL_MOVE_REQUEST_SCHEMAS
from perdure.http.api.schemas.peers import PEER_REQUEST_SCHEMAS
from perdure.http.api.schemas.person_requests import PERSON_REQUEST_SCHEMAS
from perdure.http.api.schemas.pools import POOL_REQUEST_SCHEMAS
from perdure.http.api.schemas.values import RequestSchema, Ttl, ValueInput, values_to_domain
from perdure.http.shared.http_errors import MalformedRequest
from perdure.records.record import About
from perdure.records.value import stated_ttl
from perdure.registry import AddressChange, Statement
from perdure.registry.idempotency import MOST_NAMES

_MOST_OWNERS: Final = 100
_ARRAY_INDEX: Final = re.compile(r"\[([0-9]+)\]")
# A missing or unknown field. A text that is not a valid field name is not repeated in the message.
_FIELD: Final = re.compile(r"Object (?:missing required|contains unknown) field `(\w{1,64})`")
_MOST_VALUES: Final = 2_048
MOST_TRANSFERRED: Final = 500

Target = Annotated[
    str,
    Meta(
        min_length=1,
        description="The target of the identifier: an absolute URL.",
        examples=["https://example.org/thesis.pdf"],
    ),
]
Owners = Annotated[
    tuple[str, ...],
    Meta(
        max_length=_MOST_OWNERS,
        description="The responsible parties, if not the creator: resolvable identifiers.",
        examples=[["https://orcid.org/0000-0002-1825-0097"]],
    ),
]
PrefixName = Annotated[
    str,
    Meta(min_length=1, description="A prefix of this registry, or a pool of IBI subsystems.", examples=["12345"]),
]
HandleMinter = Annotated[
    Literal["pilin", "uuid", "sequential", "chosen"],
    Meta(
        description="How suffixes are generated: pilin (for the time), uuid, sequential (a number), or chosen (by you)."
    ),
]
Policy = Annotated[str, Meta(description="The public policy for names under the prefix.")]
Pattern = Annotated[
    str, Meta(min_length=1, description="For sequential: #### marks the number.", examples=["thesis-####"])
]
PassThrough = Annotated[
    bool,
    Meta(description="Whether a name that extends a registered one redirects to its target, with the rest appended."),
]
DefaultTtl = Annotated[
    int,
    Meta(ge=0, le=2**31 - 1, description="The TTL of values for which none is given, in seconds. Default: a day."),
]
Joiners = Annotated[
    bool,
    Meta(
        description="Whether suffixes may contain zero-width joiners, as Persian and Indic words need them. "
        "This cannot be withdrawn."
    ),
]
Granularity = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,20}(\.[0-9]{1,20})?$",
        description="IBI subsystem: the smallest interval between two dates, in seconds.",
        examples=["60", "1", "0.1"],
    ),
]
Port = Annotated[int, Meta(ge=1, le=65_535)]
Host = Annotated[str, Meta(min_length=1, description="IBI subsystem: the host.", examples=["mtc-m18.sid.inpe.br"])]
IpAddress = Annotated[
    str, Meta(min_length=1, description="IBI subsystem: the IP address.", examples=["150.163.34.243"])
]


ItemKey = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=1000,
        description="A key of the item, for a pool that chooses the subsystem by its hash: one key always leads to the "
        "same subsystem.",
        examples=["report-17.pdf"],
    ),
]


class AboutInput(RequestSchema, frozen=True, kw_only=True):
    """A description for landing pages and citations."""

    who: str | None = None
    what: str | None = None
    when: str | None = None
    where: str | None = None

    def to_domain(self) -> About:
        return About(self.who, self.what, self.when, self.where)


Values = Annotated[tuple[ValueInput, ...], Meta(max_length=_MOST_VALUES, description="The typed values.")]


class RecordRequest(RequestSchema, frozen=True, kw_only=True):
    """The content of an identifier."""

    target: Target | None = None
    values: Values = ()
    about: AboutInput | None = None
    owners: Owners = ()
    ttl: Ttl | None = None

    def to_statement(self, creator: str | None = None) -> Statement:
        about = None if self.about is None else self.about.to_domain()
        values = values_to_domain(self.values)
        return Statement(self.target, values, about, creator, self.owners, stated_ttl(self.ttl))


class MintRequest(RecordRequest, frozen=True, kw_only=True):
    """A request for new names. Names without a target and without values are reserved."""

    prefix: PrefixName
    creator: Annotated[str, Meta(min_length=1, description="The creator, if not the caller.")] | None = None
    suffix: (
        Annotated[
            str,
            Meta(
                min_length=1,
                description="The suffix, required if the minter of the prefix is chosen.",
                examples=["on-1"],
            ),
        ]
        | None
    ) = None
    suffixes: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(max_length=MOST_NAMES, description="Several suffixes, one for each name."),
    ] = ()
    count: Annotated[
        int, Meta(ge=1, le=MOST_NAMES, description="The number of names; all of them are minted, or none.")
    ] = 1
    item_key: ItemKey | None = None

    def chosen_suffixes(self) -> tuple[str, ...]:
        if self.suffix is not None and self.suffixes:
            raise InvalidInput("mint", "suffixes", "give either suffix or suffixes, not both")
        chosen = self.suffixes if self.suffix is None else (self.suffix,)
        if chosen and self.count not in (1, len(chosen)):
            raise InvalidInput("mint", "count", f"count is {self.count}, but {len(chosen)} suffixes are given")
        return chosen


class IbiMintRequest(RecordRequest, frozen=True, kw_only=True):
    """A request for new IBI labels. Those without a target and without values are reserved."""

    creator: Annotated[str, Meta(min_length=1, description="The creator, if not the caller.")] | None = None
    count: Annotated[
        int, Meta(ge=1, le=MOST_NAMES, description="The number of names; all of them are minted, or none.")
    ] = 1
    item_key: ItemKey | None = None


class MintLine(RecordRequest, frozen=True, kw_only=True):
    """One line of a request for many names. Without a target and without values, its name is reserved."""

    creator: Annotated[str, Meta(min_length=1, description="The creator, if not the caller.")] | None = None
    suffix: Annotated[str, Meta(min_length=1, description="The suffix, if the minter is chosen.")] | None = None
    name: (
        Annotated[
            str,
            Meta(
                min_length=1, description="The name that the line has already: it is checked, and no other is minted."
            ),
        ]
        | None
    ) = None


class ChangeRequest(RecordRequest, frozen=True, kw_only=True):
    """The changed content. Fields that are not given stay. A value replaces the one with the same index."""


class BindRequest(RecordRequest, frozen=True, kw_only=True):
    """The content of a reserved name."""


class AddValuesRequest(RequestSchema, frozen=True, kw_only=True):
    """Values to add."""

    values: Annotated[
        tuple[ValueInput, ...], Meta(min_length=1, max_length=_MOST_VALUES, description="Index 0 takes a free index.")
    ]


class TransferRequest(RequestSchema, frozen=True, kw_only=True):
    """Identifiers to transfer to another agent: all of them, or none."""

    to: Annotated[str, Meta(min_length=1, description="The short name of an agent.", examples=["maria"])]
    names: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(min_length=1, max_length=MOST_TRANSFERRED, examples=[["12345/Y35XYS0QH"]]),
    ]


class AddPrefixRequest(RequestSchema, frozen=True, kw_only=True):
    """A Handle prefix (`prefix`, `minter`, …) or an IBI subsystem (`host`, `ip`, or both, …)."""

    prefix: Annotated[str, Meta(min_length=1, examples=["12345"])] | None = None
    minter: HandleMinter | None = None
    case_sensitive: Annotated[
        bool, Meta(description="Whether suffixes are case-sensitive. This cannot be changed later.")
    ] = True
    pattern: Pattern | None = None
    pass_through: PassThrough = False
    ttl: DefaultTtl | None = None
    joiners: Joiners = False
    policy: Policy = ""
    host: Host | None = None
    port: Annotated[Port, Meta(description="The port of the host, 80 if none is given.")] | None = None
    ip: IpAddress | None = None
    ip_port: Annotated[Port, Meta(description="The port of the IP address, 800 if none is given.")] | None = None
    granularity: Granularity | None = None
    private: Annotated[bool, Meta(description="Allow an IP address that is not global.")] = False


class DerivePrefixRequest(RequestSchema, frozen=True, kw_only=True):
    """A prefix below another one, like 12345.1 below 12345."""

    prefix: Annotated[str, Meta(min_length=1, examples=["12345.1"])]
    minter: HandleMinter = "pilin"
    case_sensitive: Annotated[
        bool, Meta(description="Whether suffixes are case-sensitive. This cannot be changed later.")
    ] = True
    pattern: Pattern | None = None
    pass_through: PassThrough = False
    ttl: DefaultTtl | None = None
    joiners: Joiners = False
    policy: Policy = ""


class ChangePrefixRequest(RequestSchema, frozen=True, kw_only=True):
    """The changed settings of a prefix. Fields that are not given stay."""

    policy: Policy | None = None
    granularity: Granularity | None = None
    minter: HandleMinter | None = None
    pattern: Pattern | None = None
    pass_through: PassThrough | None = None
    ttl: DefaultTtl | None = None
    joiners: Joiners | None = None
    host: Host | None = None
    port: Port | None = None
    ip: IpAddress | None = None
    ip_port: Port | None = None
    private: Annotated[bool, Meta(description="Allow an IP address that is not global.")] = False
    no_host: Annotated[bool, Meta(description="IBI subsystem: mint no repository names any more.")] = False
    no_ip: Annotated[bool, Meta(description="IBI subsystem: mint no IBIps any more.")] = False

    def to_address_change(self) -> AddressChange:
        """Return the change of the address of a subsystem."""
        return AddressChange(
            host=self.host,
            port=self.port,
            ip=self.ip,
            ip_port=self.ip_port,
            private=self.private,
            no_host=self.no_host,
            no_ip=self.no_ip,
        )


class RedactValuesRequest(RequestSchema, frozen=True, kw_only=True):
    """The values to remove from every version permanently, and the reason."""

    indexes: Annotated[
        tuple[int, ...],
        Meta(min_length=1, max_length=_MOST_VALUES, description="The indexes of values, including removed ones."),
    ]
    reason: Annotated[str, Meta(min_length=1, description="The reason, which is public.", examples=["a court order"])]


REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (
    MintRequest,
    IbiMintRequest,
    ChangeRequest,
    BindRequest,
    AddValuesRequest,
    RedactValuesRequest,
    TransferRequest,
    BulkChangeRequest,
    AddPrefixRequest,
    DerivePrefixRequest,
    ChangePrefixRequest,
    *POOL_REQUEST_SCHEMAS,
    *AGENT_REQUEST_SCHEMAS,
    *ORIGINAL_MOVE_REQUEST_SCHEMAS,
    *PEER_REQUEST_SCHEMAS,
    *PERSON_REQUEST_SCHEMAS,
)
LINE_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (MintLine,)  # of bodies with many lines
_decoders: Final = {kind: msgspec.json.Decoder(kind) for kind in (*REQUEST_SCHEMAS, *LINE_SCHEMAS)}


def parse_body(kind: type[RequestSchema], body: bytes) -> Any:
    """Parse a body of this type. An error names the field."""
    try:
        parsed = _decoders[kind].decode(body)
        refuse_duplicate_keys(body)
        return parsed
    except msgspec.ValidationError as problem:
        part, reason = _locate_error(kind, str(problem))
        raise InvalidInput("request", part, reason, kind.rules.get(part)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise MalformedRequest(f"the body is not valid JSON: {problem}") from None
    except RecursionError:
        raise MalformedRequest("the body is nested too deeply") from None


def _locate_error(kind: type[RequestSchema], message: str) -> tuple[str, str]:
    """Return the invalid, missing or unknown field, with list items numbered as for clients, and the reason."""
    reason, _, where = message.rpartition(" - at `")
    position = where.rstrip("`").removeprefix("$").removeprefix(".") if reason else ""
    position = _ARRAY_INDEX.sub(lambda number: f"[{int(number[1]) + kind.counted_from}]", position)
    field = _FIELD.fullmatch(reason or message)
    named = ".".join(filter(None, (position, field[1] if field else "")))
    return named or "body", reason or message
