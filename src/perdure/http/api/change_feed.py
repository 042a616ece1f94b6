"""The change feed: pages of ActivityStreams, for clients that mirror the registry."""

from typing import Annotated, Final, Literal
from urllib.parse import quote

import msgspec
from litestar import Response, get
from litestar.openapi.spec import Example
from litestar.params import QueryParameter
from msgspec import Meta

from perdure.http.api.request_context import CREDENTIALS_OPTIONAL, InjectedContext, PageLimit, error_responses
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.urls import path_of
from perdure.registry.change_feed import ChangeFeedPage, changes_since
from perdure.registry.entities import FeedEntry

_ACTIVITY_STREAMS: Final = "https://www.w3.org/ns/activitystreams"
_DELETING_ACTIONS: Final = frozenset({"withdraw", "split"})
ActivityType = Literal["Create", "Update", "Delete"]


class ChangedObject(msgspec.Struct, frozen=True, kw_only=True):
    """A changed identifier: its URL, its name, and the scheme of the name."""

    id: str
    name: str
    scheme: Literal["handle", "ibi", "ppid"]
    state: Annotated[str, Meta(description="Its current state.")]
    version: int


class ChangeActivity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One revision."""

    type: Annotated[
        ActivityType,
        Meta(
            description="`Delete`: it was withdrawn, or its whole content was redacted. The loss of a part, as of one "
            "observation of a reconstruction, is an `Update`."
        ),
    ]
    actor: Annotated[str, Meta(description="The short name of the agent. Omitted without credentials.")] = ""
    summary: Annotated[str, Meta(description="The action.")]
    published: Annotated[str, Meta(description="The time of the change.")]
    object: ChangedObject


class ActivityPage(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in the order in which they were made. `next` is the URL of the following changes, now or later.

    If `next` equals the page's own `id`, there are no further changes yet.
    """

    context: Literal["https://www.w3.org/ns/activitystreams"] = msgspec.field(
        default=_ACTIVITY_STREAMS, name="@context"
    )
    type: Literal["OrderedCollectionPage"] = "OrderedCollectionPage"
    id: str
    next: str
    items: tuple[ChangeActivity, ...] = msgspec.field(name="orderedItems")


@get(
    "/changes",
    operation_id="changes",
    tags=["finding"],
    summary="List changes",
    security=CREDENTIALS_OPTIONAL,
    responses=error_responses(),
    response_description="A page of changes, oldest first.",
)
async def changes(
    context: InjectedContext,
    since: Annotated[
        str,
        QueryParameter(
            max_length=64,
            description="Return changes after this time. To continue, use the URL in `next`. Default: all changes.",
            examples=[Example(value="2025-01-09T10:30:00Z")],
        ),
    ] = "",
    limit: PageLimit = 100,
    scheme: Annotated[
        Literal["", "handle", "ibi", "ppid"], QueryParameter(description="Only names of this scheme.")
    ] = "",
) -> Response[ActivityPage]:
    """List every revision since an instant, in the order in which this registry recorded them.

    Every page has `next`. If it equals the `id` of the page, there are no further changes yet: request it again later.
    A page before that may have fewer items than `limit`, or none: with `scheme`, a page ends after 10,000 changes have
    been scanned. Without credentials, names that are currently reserved are omitted: their first change in the feed is
    the `Update` that binds them.
    """
    origin = context.request.origin
    bounded = context.clamp_limit(limit)
    page = await changes_since(context.registry, since or None, limit=bounded, scheme=scheme or None, by=context.caller)
    return Response(
        ActivityPage(
            id=_page_url(origin, page.since, bounded, scheme),
            next=_page_url(origin, page.next, bounded, scheme),
            items=tuple(_to_activity(origin, page, entry) for entry in page.changes),
        )
    )


def _page_url(origin: str, since: str, limit: int, scheme: str) -> str:
    query = f"since={quote(since, safe=':')}&limit={limit}" + (f"&scheme={scheme}" if scheme else "")
    return f"{origin}{API_ROOT}/changes?{query}"


def _to_activity(origin: str, page: ChangeFeedPage, entry: FeedEntry) -> ChangeActivity:
    is_gone = entry.action in _DELETING_ACTIONS or (entry.action == "redact" and entry.name in page.redacted)
    kind: ActivityType = "Create" if entry.version == 1 else "Delete" if is_gone else "Update"
    return ChangeActivity(
        type=kind,
        actor=entry.agent,
        summary=entry.action,
        published=entry.at,
        object=ChangedObject(
            id=f"{origin}{path_of(entry.name)}",
            name=entry.name,
            scheme=entry.scheme,
            state=entry.state,
            version=entry.version,
        ),
    )
