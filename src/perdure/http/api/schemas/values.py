"""Request schemas of values, in the notation of Handle clients, parsed strictly."""

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from perdure.records.value import (
    DEFAULT_PERMISSIONS,
    Admin,
    AdminRights,
    Binary,
    Data,
    Reference,
    Text,
    Value,
    ValueList,
    stated_ttl,
)

_LARGEST: Final = 2**31 - 1


class RequestSchema(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """The base of request schemas: an unknown field is an error.

    `rules` are the rules of a specification that a missing field, or one of the wrong type, violates. `counted_from`
    is the number of the first item of a list in error messages, as later validation counts.
    """

    rules: ClassVar[dict[str, str]] = {}
    counted_from: ClassVar[int] = 0


class TextInput(RequestSchema, frozen=True, kw_only=True, tag_field="format", tag="string"):
    """Text."""

    value: str


class BinaryInput(RequestSchema, frozen=True, kw_only=True, tag_field="format", tag="base64"):
    """Bytes."""

    value: bytes


class ReferenceInput(RequestSchema, frozen=True, kw_only=True):
    """A reference to a value of a handle; index 0 means any."""

    handle: Annotated[str, Meta(min_length=1)]
    index: Annotated[int, Meta(ge=0, le=_LARGEST)]


class AdminRightsInput(ReferenceInput, frozen=True, kw_only=True):
    """An administrator of a handle, with the twelve permissions of the Handle System, "list" first."""

    permissions: Annotated[str, Meta(pattern="^[01]{12}$")]


class AdminInput(RequestSchema, frozen=True, kw_only=True, tag_field="format", tag="admin"):
    """The data of an HS_ADMIN value."""

    value: AdminRightsInput


class ValueListInput(RequestSchema, frozen=True, kw_only=True, tag_field="format", tag="vlist"):
    """The data of an HS_VLIST value: a list of administrators."""

    value: tuple[ReferenceInput, ...]


Ttl = Annotated[
    Annotated[int, Meta(ge=0, le=_LARGEST)] | str,
    Meta(
        description="The TTL: the number of seconds for which Handle clients may cache the value, or the instant at "
        "which it expires. Default: that of the value which is replaced, or of the prefix."
    ),
]


class ValueInput(RequestSchema, frozen=True, kw_only=True):
    """One typed value of a record, in the notation of Handle clients. The registry sets its timestamp."""

    index: Annotated[
        int,
        Meta(ge=0, le=_LARGEST, description="The index in the record. When values are added, 0 takes a free index."),
    ]
    type: Annotated[str, Meta(min_length=1, max_length=255, examples=["EMAIL"])]
    data: TextInput | BinaryInput | AdminInput | ValueListInput
    ttl: Ttl | None = None
    permissions: Annotated[
        str,
        Meta(
            pattern="^[01]{4}$",
            description="Four flags: administrators read, administrators write, public read, public write.",
        ),
    ] = DEFAULT_PERMISSIONS
    references: tuple[ReferenceInput, ...] = ()

    def to_domain(self) -> Value:
        references = tuple(Reference(reference.handle, reference.index) for reference in self.references)
        ttl = stated_ttl(self.ttl)
        return Value(self.index, self.type, _to_data(self.data), "", ttl, self.permissions, references)


def values_to_domain(values: tuple[ValueInput, ...]) -> tuple[Value, ...]:
    return tuple(value.to_domain() for value in values)


def _to_data(sent: TextInput | BinaryInput | AdminInput | ValueListInput) -> Data:
    match sent:
        case TextInput():
            return Text(sent.value)
        case BinaryInput():
            return Binary(sent.value)
        case AdminInput():
            return Admin(AdminRights(sent.value.handle, sent.value.index, sent.value.permissions))
        case ValueListInput():
            return ValueList(tuple(Reference(reference.handle, reference.index) for reference in sent.value))
