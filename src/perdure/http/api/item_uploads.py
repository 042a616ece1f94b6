"""The endpoints that store files in items: a file at its path, or a form with several files."""

from contextlib import ExitStack
from typing import Annotated, Final

from litestar import Response, post, put
from litestar.datastructures import ResponseHeader
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, PathParameter

from perdure.collections.addresses import file_address
from perdure.http.api.bulk_request import parts_at_least_rate
from perdure.http.api.item_form import ItemForm
from perdure.http.api.item_storage import ItemFields, QuotaWatch, StoredUpload, check_upload, store_files
from perdure.http.api.litestar_bypass import STREAMED
from perdure.http.api.multipart import FORM
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, InjectedContext, error_responses
from perdure.http.api.schemas.stored_items import StoredItemResponse
from perdure.http.auth.transport_policy import is_cross_site
from perdure.http.items.body_digest import BodyDigest
from perdure.http.items.content_headers import stated_media_type
from perdure.http.items.received_file import ReceivedFile
from perdure.http.items.upload_conditions import check_upload_conditions
from perdure.http.shared.conditional import conflict_as_precondition_failed
from perdure.http.shared.cors import is_from_listed_origin
from perdure.http.shared.http_errors import BodyTooLarge, CrossSiteRequest, MalformedRequest, UnsupportedMediaType
from perdure.http.shared.media_type import body_media_type
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Request
from perdure.http.shared.threads import run_in_thread

CREATED: Final = 201

CollectionName = Annotated[
    str, PathParameter(description="The name of a collection.", examples=[Example(value="archive")])
]
Label = Annotated[
    str,
    PathParameter(
        description="A label of the item, with its slashes.", examples=[Example(value="8JMKD3MGP8W/34PGRBS")]
    ),
]
FilePath = Annotated[
    str, PathParameter(description="The path of the file in its item.", examples=[Example(value="maps/amazon.tif")])
]
ReprDigest = Annotated[
    str | None,
    HeaderParameter(
        name="Repr-Digest", description="Digests of the body (RFC 9530): `sha-256=:BASE64:` or `sha-512=:BASE64:`."
    ),
]
ContentDigest = Annotated[
    str | None, HeaderParameter(name="Content-Digest", description="Digests of the body, as in `Repr-Digest`.")
]
LOCATION: Final = [ResponseHeader(name="Location", documentation_only=True, description="The URL of the item.")]


@put(
    "/items/{collection:str}/{label:str}/{path:str}",
    status_code=200,
    opt=STREAMED,
    operation_id="putFile",
    tags=["items"],
    summary="Store a file of an item",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 408, 409, 410, 412, 413, 415),
    response_description="The file is on disk, in the newest version of the item.",
    response_headers=LOCATION,
)
async def put_file(
    context: InjectedContext,
    collection: CollectionName,
    label: Label,
    path: FilePath,
    repr_digest: ReprDigest = None,
    content_digest: ContentDigest = None,
    if_match: Annotated[
        str | None, HeaderParameter(name="If-Match", description="Store the file only in place of one with this ETag.")
    ] = None,
    if_none_match: Annotated[
        str | None, HeaderParameter(name="If-None-Match", description="`*`: store the file only if it is new.")
    ] = None,
) -> Response[StoredItemResponse]:
    """Store a file of an item. The other files stay, and the version before stays readable.

    If the item has this very file already, nothing changes. The body is the file; its `Content-Type` is stored, too.
    """
    request = context.request
    if request.header(b"content-range") is not None:  # curl --continue-at sends it with the rest of a file
        raise MalformedRequest("a file is stored as a whole, without Content-Range: use an upload in several parts")
    digest = BodyDigest.parse(repr_digest, content_digest)
    fields = ItemFields(collection, label, None)
    length = check_length(request, context.app.options.upload_bytes)
    root, stored_label = await check_upload(context, fields, length, [path])
    expected = await run_in_thread(check_upload_conditions, request, root, stored_label or label, path)
    watch = QuotaWatch(context)
    with ReceivedFile(path, stated_media_type(request.header(b"content-type"))) as received:
        async for piece in parts_at_least_rate(request):
            if received.size + len(piece) > context.app.options.upload_bytes:
                raise BodyTooLarge(context.app.options.upload_bytes)
            digest.update(piece)
            await received.add(piece)
            await watch.check(received.size)
        digest.check()
        source = await received.finish()
        with conflict_as_precondition_failed(expected is not None):
            stored = await store_files(context, fields, [source], received.size, expected_version=expected)
    return _stored_response(stored, 200, file_address(stored.url, path))


@post(
    "/items/{collection:str}",
    status_code=CREATED,
    opt=STREAMED,
    operation_id="putItem",
    tags=["items"],
    summary="Store an item from a form",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 408, 409, 410, 413, 415),
    response_description="All files are on disk, and the identifier points to them.",
    response_headers=LOCATION,
)
async def put_item_form(
    context: InjectedContext,
    collection: CollectionName,
    repr_digest: ReprDigest = None,
    content_digest: ContentDigest = None,
) -> Response[StoredItemResponse]:
    """Store files as an item: a new one, whose name a subsystem mints, or more files of an existing one.

    The fields come before the files: `label` of an existing item, or `subsystem` (or a pool) and `title` of a new one;
    `main`, the file to which the identifier leads (or `/`); `message`, what is new. The name of each file is its path.
    """
    request, options = context.request, context.app.options
    if is_cross_site(request) and not is_from_listed_origin(request):  # browsers send forms without a preflight
        raise CrossSiteRequest()
    if body_media_type(request) != FORM:
        raise UnsupportedMediaType(FORM)
    length = check_length(request, options.upload_bytes)
    digest = BodyDigest.parse(repr_digest, content_digest)
    watch = QuotaWatch(context)
    with ExitStack() as files:
        form = ItemForm(request.header(b"content-type") or "", files, options.upload_bytes)
        is_checked = False
        async for piece in parts_at_least_rate(request):
            digest.update(piece)
            await form.feed(piece)
            await watch.check(form.size)
            if form.files and not is_checked:  # all fields are there: refuse before most of the body is received
                is_checked = True
                early = ItemFields.from_fields({"collection": collection, **form.fields})._replace(main=None)
                await check_upload(context, early, length, form.paths)
        form.finish()
        digest.check()
        fields = ItemFields.from_fields({"collection": collection, **form.fields})
        sources = [await one.finish() for one in form.files]
        stored = await store_files(context, fields, sources, form.size)
    return _stored_response(stored, CREATED, stored.url)


def check_length(request: Request, most: int) -> int:
    """Return the length of the body, or 0 if it is not stated. Raise BodyTooLarge if it is too large."""
    request.check_encoding()
    length = request.header(b"content-length")
    stated = int(length) if length is not None and length.isdigit() else 0
    if stated > most:
        raise BodyTooLarge(most)
    return stated


def _stored_response(stored: StoredUpload, status: int, location: str) -> Response[StoredItemResponse]:
    holding = stored.holding
    body = StoredItemResponse(
        label=holding.label,
        collection=holding.collection,
        version=holding.version,
        url=stored.url,
        files=holding.files,
        size=holding.size,
        digest=holding.digest,
        main_file=holding.main_file,
    )
    headers = {
        "cache-control": "no-store",
        "location": encode_location(stored.url).decode(),
        "content-location": encode_location(location).decode(),
    }
    return Response(body, status_code=status, headers=headers)
