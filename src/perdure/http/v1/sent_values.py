"""Values as clients send them: the form that Handle clients write, read strictly."""

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from perdure.records.value import (
    DEFAULT_PERMISSIONS,
    DEFAULT_TTL,
    Admin,
    AdminRights,
    Binary,
    Data,
    Reference,
    Text,
    Value,
    ValueList,
)

_LARGEST: Final = 2**31 - 1


class Sent(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What all bodies have in common: a field that nobody knows is an error, and not passed over.

    `rules` are those of a specification that a field breaks by being missing, or of another kind. `counted_from` is
    the number of the first of several, as whatever looks at them later counts.
    """

    rules: ClassVar[dict[str, str]] = {}
    counted_from: ClassVar[int] = 0


class SentText(Sent, frozen=True, kw_only=True, tag_field="format", tag="string"):
    """Text."""

    value: str


class SentBinary(Sent, frozen=True, kw_only=True, tag_field="format", tag="base64"):
    """Bytes."""

    value: bytes


class SentReference(Sent, frozen=True, kw_only=True):
    """One value of one handle; index 0 stands for any."""

    handle: Annotated[str, Meta(min_length=1)]
    index: Annotated[int, Meta(ge=0, le=_LARGEST)]


class SentRights(SentReference, frozen=True, kw_only=True):
    """Who administers a handle, and the twelve permissions of the Handle System, "list" first."""

    permissions: Annotated[str, Meta(pattern="^[01]{12}$")]


class SentAdmin(Sent, frozen=True, kw_only=True, tag_field="format", tag="admin"):
    """An administrator, as HS_ADMIN names one."""

    value: SentRights


class SentValueList(Sent, frozen=True, kw_only=True, tag_field="format", tag="vlist"):
    """A list of administrators, as HS_VLIST holds one."""

    value: tuple[SentReference, ...]


class SentValue(Sent, frozen=True, kw_only=True):
    """One typed statement of a record, in the form that Handle clients write. Its timestamp is the registry's."""

    index: Annotated[
        int,
        Meta(ge=0, le=_LARGEST, description="Its place in the record; 0, where values are added, takes a free one."),
    ]
    type: Annotated[str, Meta(min_length=1, max_length=255, examples=["EMAIL"])]
    data: SentText | SentBinary | SentAdmin | SentValueList
    ttl: Annotated[
        Annotated[int, Meta(ge=0, le=_LARGEST)] | str,
        Meta(description="For how many seconds it may be kept elsewhere, or the instant at which it lapses."),
    ] = DEFAULT_TTL
    permissions: Annotated[
        str, Meta(pattern="^[01]{4}$", description="Administrators may read, write; everybody may read, write.")
    ] = DEFAULT_PERMISSIONS
    references: tuple[SentReference, ...] = ()

    def stated(self) -> Value:
        references = tuple(Reference(one.handle, one.index) for one in self.references)
        return Value(self.index, self.type, _data(self.data), "", self.ttl, self.permissions, references)


def stated(values: tuple[SentValue, ...]) -> tuple[Value, ...]:
    return tuple(value.stated() for value in values)


def _data(sent: SentText | SentBinary | SentAdmin | SentValueList) -> Data:
    match sent:
        case SentText():
            return Text(sent.value)
        case SentBinary():
            return Binary(sent.value)
        case SentAdmin():
            return Admin(AdminRights(sent.value.handle, sent.value.index, sent.value.permissions))
        case SentValueList():
            return ValueList(tuple(Reference(one.handle, one.index) for one in sent.value))
