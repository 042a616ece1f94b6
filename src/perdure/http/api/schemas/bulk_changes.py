"""The bodies of bulk changes: the request, and the lines of the response."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.http.api.schemas.values import RequestSchema
from perdure.registry import BulkRequest, IdentifierQuery, NameSource
from perdure.registry.bulk_changes.bulk_change import BulkState, Kind

MOST_NAMES: Final = 10_000


class BulkChangeRequest(RequestSchema, frozen=True, kw_only=True):
    """A change of many identifiers: those in `names`, or those that `query` selects."""

    kind: Annotated[Kind, Meta(description="What to do.")]
    dry_run: Annotated[bool, Meta(description="Return a preview, and change nothing.")] = False
    names: Annotated[
        tuple[Annotated[str, Meta(min_length=1)], ...], Meta(max_length=MOST_NAMES, description="The identifiers.")
    ] = ()
    query: (
        Annotated[
            IdentifierQuery,
            Meta(description="Filters, all of which an identifier must pass. {} selects all, for retarget only."),
        ]
        | None
    ) = None
    old: (
        Annotated[
            str,
            Meta(min_length=1, description="retarget: the beginning of URLs.", examples=["http://old.example.org/"]),
        ]
        | None
    ) = msgspec.field(default=None, name="from")
    new: Annotated[str, Meta(description="retarget: the new beginning.")] | None = msgspec.field(
        default=None, name="to"
    )
    regex: Annotated[
        bool, Meta(description="retarget: whether `from` is a regular expression, matched at the beginning.")
    ] = False
    agent: Annotated[str, Meta(min_length=1, description="transfer: the new owner, an agent's short name.")] | None = (
        None
    )
    reason: Annotated[str, Meta(min_length=1, description="withdraw: the reason, which is public.")] | None = None

    def to_domain(self) -> BulkRequest:
        return BulkRequest(
            kind=self.kind,
            query=self.query,
            names=NameSource(lambda: self.names).digest() if self.names else None,
            old=self.old,
            new=self.new,
            is_pattern=self.regex,
            receiver=self.agent,
            reason=self.reason,
        )


class BulkChangeResponse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a bulk change. In a stream it is repeated, and the last line is the result."""

    id: Annotated[str, Meta(description="Omitted for a preview, and if there was nothing to change.")] = ""
    kind: Kind
    state: BulkState
    agent: str
    started: str
    ended: str | None = None
    seen: Annotated[int, Meta(description="The identifiers that were selected.")]
    changed: int
    unchanged: int
    refused: Annotated[int, Meta(description="The identifiers that cannot be changed; a line for each says why.")]
    urls: Annotated[int, Meta(description="retarget: the URLs that were replaced.")] = 0
    undone: int = 0
    undo_refused: int = 0


class BulkProblemLine(msgspec.Struct, frozen=True, kw_only=True):
    """An identifier that stays as it is, and the reason."""

    name: str
    reason: str


class BulkExampleLine(msgspec.Struct, frozen=True, kw_only=True):
    """A replacement that a preview shows as an example."""

    name: str
    before: str
    after: str


class BulkChangeListResponse(msgspec.Struct, frozen=True, kw_only=True):
    """The bulk changes that the caller may see, the newest first."""

    bulk_changes: tuple[BulkChangeResponse, ...]


BULK_RESPONSE_SCHEMAS: Final = (
    BulkChangeResponse,
    BulkProblemLine,
    BulkExampleLine,
    BulkChangeListResponse,
)
