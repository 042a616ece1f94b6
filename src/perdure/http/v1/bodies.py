"""What clients send: one type for each body, with the meaning of every field, from which the document is written."""

import re
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from perdure.errors import InvalidInput
from perdure.exchange.json_text import refuse_duplicate_keys
from perdure.http.refusals import Malformed
from perdure.http.v1.person_bodies import PERSON_BODIES
from perdure.http.v1.sent_values import Sent, SentValue, stated
from perdure.records.record import About
from perdure.registry import Statement
from perdure.registry.repeating import MOST_AT_ONCE

_MOST_OWNERS: Final = 100
_PLACE: Final = re.compile(r"\[([0-9]+)\]")
# What is missing, or what nobody knows; a name that is no name at all is not repeated.
_FIELD: Final = re.compile(r"Object (?:missing required|contains unknown) field `(\w{1,64})`")
_MOST_VALUES: Final = 2_048
MOST_TRANSFERRED: Final = 500

Target = Annotated[
    str,
    Meta(
        min_length=1,
        description="Where the identifier leads: an absolute address.",
        examples=["https://example.org/thesis.pdf"],
    ),
]
Owners = Annotated[
    tuple[str, ...],
    Meta(
        max_length=_MOST_OWNERS,
        description="Who answers for it, if not the creator: identifiers that lead to them.",
        examples=[["https://orcid.org/0000-0002-1825-0097"]],
    ),
]
PrefixName = Annotated[str, Meta(min_length=1, description="A prefix that this registry keeps.", examples=["12345"])]
HandleMinter = Annotated[
    Literal["pilin", "uuid", "sequential", "chosen"],
    Meta(description="How suffixes are made: nine characters from a millisecond, a UUID, a number, or by choice."),
]
Policy = Annotated[str, Meta(description="What is promised about names under the prefix; the public can read it.")]
Pattern = Annotated[
    str, Meta(min_length=1, description="For sequential: where the number goes.", examples=["thesis-####"])
]
PassThrough = Annotated[
    bool, Meta(description="A longer name than one that is registered leads where that does, the rest appended.")
]
Granularity = Annotated[
    str,
    Meta(
        pattern=r"^[0-9]{1,20}(\.[0-9]{1,20})?$",
        description="Of an IBI subsystem: the finest step between two dates, in seconds.",
        examples=["60", "1", "0.1"],
    ),
]
Port = Annotated[int, Meta(ge=1, le=65_535)]


class SentAbout(Sent, frozen=True, kw_only=True):
    """A description, for landing pages and citations."""

    who: str | None = None
    what: str | None = None
    when: str | None = None
    where: str | None = None

    def stated(self) -> About:
        return About(self.who, self.what, self.when, self.where)


Values = Annotated[tuple[SentValue, ...], Meta(max_length=_MOST_VALUES, description="Typed statements.")]


class Said(Sent, frozen=True, kw_only=True):
    """What is said of an identifier."""

    target: Target | None = None
    values: Values = ()
    about: SentAbout | None = None
    owners: Owners = ()

    def statement(self, creator: str | None = None) -> Statement:
        about = None if self.about is None else self.about.stated()
        return Statement(self.target, stated(self.values), about, creator, self.owners)


class Mint(Said, frozen=True, kw_only=True):
    """New names. With a target or a value they lead there at once; without, they are reserved."""

    prefix: PrefixName
    creator: Annotated[str, Meta(min_length=1, description="Who creates it, if not you.")] | None = None
    suffix: (
        Annotated[
            str, Meta(min_length=1, description="The suffix, where the prefix lets people choose.", examples=["on-1"])
        ]
        | None
    ) = None
    suffixes: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(max_length=MOST_AT_ONCE, description="Several of them, for as many names."),
    ] = ()
    count: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE, description="How many names; all of them are made, or none.")] = 1

    def chosen(self) -> tuple[str, ...]:
        if self.suffix is not None and self.suffixes:
            raise InvalidInput("mint", "suffixes", "give either suffix or suffixes")
        chosen = self.suffixes if self.suffix is None else (self.suffix,)
        if chosen and self.count not in (1, len(chosen)):
            raise InvalidInput("mint", "count", f"{len(chosen)} suffixes make {len(chosen)} names, not {self.count}")
        return chosen


class Change(Said, frozen=True, kw_only=True):
    """What is said from now on; what is not named stays. A value takes the place of the one with its index."""


class Binding(Said, frozen=True, kw_only=True):
    """What a reserved name stands for, from now on."""


class AddedValues(Sent, frozen=True, kw_only=True):
    """Values that come to those that are there."""

    values: Annotated[
        tuple[SentValue, ...], Meta(min_length=1, max_length=_MOST_VALUES, description="Index 0 takes a free one.")
    ]


class Transfer(Sent, frozen=True, kw_only=True):
    """Identifiers that another agent answers for from now on: all of them change hands, or none."""

    to: Annotated[str, Meta(min_length=1, description="The short name of an agent.", examples=["maria"])]
    names: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...],
        Meta(min_length=1, max_length=MOST_TRANSFERRED, examples=[["12345/Y35XYS0QH"]]),
    ]


class NewPrefix(Sent, frozen=True, kw_only=True):
    """A Handle prefix (`prefix`, and how names under it are made), or an IBI subsystem (`host`, `ip`, and so on)."""

    prefix: Annotated[str, Meta(min_length=1, examples=["12345"])] | None = None
    minter: HandleMinter | None = None
    case_sensitive: Annotated[bool, Meta(description="Whether suffixes are told apart by case: fixed for life.")] = True
    pattern: Pattern | None = None
    pass_through: PassThrough = False
    policy: Policy = ""
    host: Annotated[str, Meta(min_length=1, examples=["mtc-m18.sid.inpe.br"])] | None = None
    port: Port = 80
    ip: Annotated[str, Meta(min_length=1, examples=["150.163.34.243"])] | None = None
    ip_port: Port = 800
    granularity: Granularity | None = None
    private: Annotated[bool, Meta(description="The address is not global, and labels from it are meant.")] = False


class DerivedPrefix(Sent, frozen=True, kw_only=True):
    """A prefix below another one, like 12345.1 below 12345."""

    prefix: Annotated[str, Meta(min_length=1, examples=["12345.1"])]
    minter: HandleMinter = "pilin"
    case_sensitive: Annotated[bool, Meta(description="Whether suffixes are told apart by case: fixed for life.")] = True
    pattern: Pattern | None = None
    pass_through: PassThrough = False
    policy: Policy = ""


class PrefixChange(Sent, frozen=True, kw_only=True):
    """What may be changed of a prefix; what is not named stays."""

    policy: Policy | None = None
    granularity: Granularity | None = None
    minter: HandleMinter | None = None
    pattern: Pattern | None = None
    pass_through: PassThrough | None = None


class RedactedValues(Sent, frozen=True, kw_only=True):
    """Which values are taken out of every version for good, and why."""

    indexes: Annotated[
        tuple[int, ...], Meta(min_length=1, max_length=_MOST_VALUES, description="Of values, also of removed ones.")
    ]
    reason: Annotated[str, Meta(min_length=1, description="Why. The reason is public.", examples=["a court order"])]


BODIES: Final[tuple[type[Sent], ...]] = (
    Mint,
    Change,
    Binding,
    AddedValues,
    RedactedValues,
    Transfer,
    NewPrefix,
    DerivedPrefix,
    PrefixChange,
    *PERSON_BODIES,
)
_decoders: Final = {kind: msgspec.json.Decoder(kind) for kind in BODIES}


def read_body(kind: type[Sent], body: bytes) -> Any:
    """A body of this kind; what is wrong with it is told by the name of the field."""
    try:
        said = _decoders[kind].decode(body)
        refuse_duplicate_keys(body)
        return said
    except msgspec.ValidationError as problem:
        part, reason = _blamed(kind, str(problem))
        raise InvalidInput("request", part, reason, kind.rules.get(part)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Malformed(f"the body is not JSON: {problem}") from None
    except RecursionError:
        raise Malformed("the body is nested too deeply") from None


def _blamed(kind: type[Sent], told: str) -> tuple[str, str]:
    """Which field is wrong, missing or unknown, as it is counted from outside; and how."""
    reason, _, where = told.rpartition(" - at `")
    place = where.rstrip("`").removeprefix("$").removeprefix(".") if reason else ""
    place = _PLACE.sub(lambda number: f"[{int(number[1]) + kind.counted_from}]", place)
    field = _FIELD.fullmatch(reason or told)
    named = ".".join(filter(None, (place, field[1] if field else "")))
    return named or "body", reason or told
