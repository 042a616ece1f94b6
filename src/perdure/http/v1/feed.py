"""What has changed, for who keeps a copy: a page of ActivityStreams, and where the next one is."""

from typing import Annotated, Final, Literal
from urllib.parse import quote

import msgspec
from litestar import Response, get
from litestar.openapi.spec import Example
from litestar.params import QueryParameter
from msgspec import Meta

from perdure.http.resolving.places import path_of
from perdure.http.v1.asking import KEY_OR_NOBODY, ROOT, FromDoor, Limit, problems
from perdure.registry.entities import Changed
from perdure.registry.following import Followed, changes_since

_STREAMS: Final = "https://www.w3.org/ns/activitystreams"
_GONE: Final = frozenset({"withdraw", "split"})
Activity = Literal["Create", "Update", "Delete"]


class ChangedThing(msgspec.Struct, frozen=True, kw_only=True):
    """What was changed: its address, its name, and what kind of name that is."""

    id: str
    name: str
    scheme: Literal["handle", "ibi", "ppid"]
    state: Annotated[str, Meta(description="As it is today.")]
    version: int


class ShownChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One revision."""

    type: Annotated[
        Activity,
        Meta(
            description="`Delete`: it was withdrawn, or all that it said was redacted. What has lost a part only, as a "
            "reconstruction of which one observation was redacted, is an `Update`."
        ),
    ]
    actor: Annotated[str, Meta(description="The short name of who did it. Left out without credentials.")] = ""
    summary: Annotated[str, Meta(description="By what act.")]
    published: Annotated[str, Meta(description="When it was done.")]
    object: ChangedThing


class ChangesPage(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in the order in which they came; ask `next` for those behind them, now or later.

    That was all for now when `next` is the page's own `id`.
    """

    context: Literal["https://www.w3.org/ns/activitystreams"] = msgspec.field(default=_STREAMS, name="@context")
    type: Literal["OrderedCollectionPage"] = "OrderedCollectionPage"
    id: str
    next: str
    items: tuple[ShownChange, ...] = msgspec.field(name="orderedItems")


@get(
    "/changes",
    operation_id="changes",
    tags=["finding"],
    summary="What has changed",
    security=KEY_OR_NOBODY,
    responses=problems(),
    response_description="Some of what came since, the first first.",
)
async def changes(
    asking: FromDoor,
    since: Annotated[
        str,
        QueryParameter(
            max_length=64,
            description="An instant; better what `next` said. Without it, from the beginning.",
            examples=[Example(value="2025-01-09T10:30:00Z")],
        ),
    ] = "",
    limit: Limit = 100,
    scheme: Annotated[
        Literal["", "handle", "ibi", "ppid"], QueryParameter(description="Only names of this scheme.")
    ] = "",
) -> Response[ChangesPage]:
    """Follow this registry: every revision since an instant, in the order in which they came here.

    `next` is always there. When it is the `id` of the page itself, nothing has come since: that is the end for now, and
    the place to go on from later. A page may hold fewer items than `limit` before that, also none: of names of one
    scheme, a page is given when 10,000 changes have been looked at, full or not. Without credentials, names that are
    reserved today are left out: the first that such a reader learns of one is the `Update` that binds it.
    """
    origin = asking.request.origin
    bounded = asking.bounded(limit)
    told = await changes_since(asking.registry, since or None, limit=bounded, scheme=scheme or None, by=asking.by)
    return Response(
        ChangesPage(
            id=_page(origin, told.since, bounded, scheme),
            next=_page(origin, told.next, bounded, scheme),
            items=tuple(_shown(origin, told, one) for one in told.changes),
        )
    )


def _page(origin: str, since: str, limit: int, scheme: str) -> str:
    asked = f"since={quote(since, safe=':')}&limit={limit}" + (f"&scheme={scheme}" if scheme else "")
    return f"{origin}{ROOT}/changes?{asked}"


def _shown(origin: str, told: Followed, one: Changed) -> ShownChange:
    is_gone = one.action in _GONE or (one.action == "redact" and one.name in told.redacted)
    kind: Activity = "Create" if one.version == 1 else "Delete" if is_gone else "Update"
    return ShownChange(
        type=kind,
        actor=one.agent,
        summary=one.action,
        published=one.at,
        object=ChangedThing(
            id=f"{origin}{path_of(one.name)}", name=one.name, scheme=one.scheme, state=one.state, version=one.version
        ),
    )
