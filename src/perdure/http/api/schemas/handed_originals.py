"""Request and response schemas of the move of an original to another server."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from perdure.http.api.schemas.responses import ResponseSchema
from perdure.http.api.schemas.values import RequestSchema


class OriginalMoveRequest(RequestSchema, frozen=True, kw_only=True):
    """The item, and the newest version that the other server has."""

    label: Annotated[str, Meta(min_length=1, max_length=2048, examples=["8JMKD3MGP8W/34PGRBS"])]
    collection: Annotated[str, Meta(min_length=1, max_length=100, description="The collection here that has it.")]
    server: Annotated[
        str, Meta(min_length=1, max_length=200, description="The identity of the registry that gets the original.")
    ]
    version: Annotated[int, Meta(ge=1)]
    digest: Annotated[str, Meta(max_length=200, description="The digest of the list of files of this version.")]


class OriginalMoveResponse(ResponseSchema, frozen=True, kw_only=True):
    """The item whose original is on the other server now."""

    label: str
    collection: str
    server: str
    url: Annotated[str, Meta(description="The URL of the other server.")]
    version: int
    digest: str
    main_file: str | None


ORIGINAL_MOVE_REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (OriginalMoveRequest,)
ORIGINAL_MOVE_RESPONSE_SCHEMAS: Final[tuple[type[msgspec.Struct], ...]] = (OriginalMoveResponse,)
