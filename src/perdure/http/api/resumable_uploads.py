"""The endpoints of uploads in several parts: tus 1.0.0 with creation, checksum, termination and expiration."""

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Annotated, Final

from litestar import Response, delete, head, patch, post
from litestar.openapi.spec import Example
from litestar.params import HeaderParameter, PathParameter

from perdure.collections.source_files import LocalFile
from perdure.errors import QuotaExceeded
from perdure.http.api.bulk_request import parts_at_least_rate
from perdure.http.api.item_storage import ItemFields, check_quota, check_upload, find_file_name, store_files
from perdure.http.api.litestar_bypass import STREAMED
from perdure.http.api.request_context import CREDENTIALS_REQUIRED, ApiContext, InjectedContext, error_responses
from perdure.http.app_context import AppContext
from perdure.http.items import tus
from perdure.http.items.content_headers import stated_media_type
from perdure.http.shared.api_roots import API_ROOT
from perdure.http.shared.http_errors import (
    BodyTooLarge,
    BodyTooSlow,
    ChecksumMismatch,
    ClientDisconnected,
    UnsupportedMediaType,
    UnsupportedTusVersion,
    UploadConflict,
    UploadInUse,
)
from perdure.http.shared.media_type import body_media_type
from perdure.http.shared.redirects import encode_location
from perdure.http.shared.request import Headers, Request
from perdure.http.shared.responses import NO_STORE
from perdure.http.shared.threads import run_in_thread, run_to_end_in_thread
from perdure.http.shared.upload_folder import OpenUpload, Upload, UploadedItem

CREATED: Final = 201
_MOST: Final = 64  # unfinished uploads of one agent
_BUFFER: Final = 1 << 20  # bytes that are written at a time
_PATIENCE: Final = 2.0  # seconds for which a request waits for another one that has the same upload open
_INTERVAL: Final = 0.05
_SYNC_EVERY: Final = 16 << 20  # bytes after which they are put on disk

UploadId = Annotated[
    str,
    PathParameter(
        description="The id of an upload, from the `Location` of its creation.",
        examples=[Example(value="0123456789abcdef0123456789abcdef")],
    ),
]
TusResumable = Annotated[
    str | None,
    HeaderParameter(name="Tus-Resumable", description="The version of the protocol: 1.0.0.", pattern=r"^1\.0\.0$"),
]


def tus_options(app: AppContext) -> Headers:
    """Return the headers by which a client learns what this server supports."""
    return [*tus.COMMON, *tus.capabilities(app.options.upload_bytes)]


@post(
    "/uploads",
    status_code=CREATED,
    opt=STREAMED,
    operation_id="beginUpload",
    tags=["items"],
    summary="Begin an upload in several parts",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 413),
    response_description="The upload exists on disk. Its URL is in `Location`.",
)
async def begin_upload(
    context: InjectedContext,
    tus_resumable: TusResumable = None,
    upload_length: Annotated[
        str | None, HeaderParameter(name="Upload-Length", description="The size of the file in bytes.")
    ] = None,
    upload_metadata: Annotated[
        str | None,
        HeaderParameter(
            name="Upload-Metadata",
            description="Pairs of a key and a value in Base64: `collection` and `filename`, and `label` for a file of "
            "an existing item or `subsystem` for a new one; `title`, `filetype`, `main` and `message` are optional.",
        ),
    ] = None,
) -> Response[None]:
    """Begin an upload (tus 1.0.0). The finished file is stored in the item that the metadata names, or in a new one."""
    _check_version(context, tus_resumable)
    app = context.app
    length = tus.parse_number(upload_length, "Upload-Length")
    if length > app.options.upload_bytes:
        raise BodyTooLarge(app.options.upload_bytes)
    metadata = tus.parse_metadata(upload_metadata)
    await check_upload(context, ItemFields.from_fields(metadata), length, [find_file_name(metadata)])
    upload = await run_in_thread(app.uploads.create, context.agent.id, length, upload_metadata or "", most=_MOST)
    await _keep_within_quota(context, upload)
    headers: Headers = [
        (b"location", f"{API_ROOT}/uploads/{upload.id}".encode()),  # at the address that the client uses
        await _expiry(app, upload.id),
    ]
    if not length:
        async with _open(context, upload.id) as opened:
            headers += _describe(upload, 0, await _finish(context, opened))
    return _respond(CREATED, headers)


@head(
    "/uploads/{upload:str}",
    opt=STREAMED,
    operation_id="showUpload",
    tags=["items"],
    summary="Show how much of an upload is on disk",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 423),
    response_description="The rest begins at `Upload-Offset`.",
)
async def show_upload(context: InjectedContext, upload: UploadId, tus_resumable: TusResumable = None) -> Response[None]:
    """Show the offset of an upload of the caller. A complete one whose file was not stored yet is stored now."""
    owner = context.agent.id
    _check_version(context, tus_resumable)
    info, offset, item = await run_in_thread(context.app.uploads.read, upload, owner)
    if offset == info.length and item is None:  # the server was stopped in between
        async with _open(context, upload) as opened:
            item = await _finish(context, opened)
    headers = [*_describe(info, offset, item), await _expiry(context.app, upload)]
    return _respond(200, headers)


@patch(
    "/uploads/{upload:str}",
    status_code=204,
    opt=STREAMED,
    operation_id="continueUpload",
    tags=["items"],
    summary="Send a part of an upload",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 409, 412, 413, 415, 423, 460),
    response_description="The part is on disk. After the last part, the file is in the item of `Content-Location`.",
)
async def continue_upload(
    context: InjectedContext,
    upload: UploadId,
    tus_resumable: TusResumable = None,
    upload_offset: Annotated[
        str | None, HeaderParameter(name="Upload-Offset", description="The position of the first byte of this part.")
    ] = None,
    upload_checksum: Annotated[
        str | None,
        HeaderParameter(
            name="Upload-Checksum",
            description=f"An algorithm ({', '.join(tus.CHECKSUM_ALGORITHMS)}) and the digest of this part in Base64.",
        ),
    ] = None,
) -> Response[None]:
    """Append a part to an upload of the caller. If the connection breaks, what came before counts."""
    _check_version(context, tus_resumable)
    request = context.request
    if body_media_type(request) != tus.CONTENT_TYPE:
        raise UnsupportedMediaType(tus.CONTENT_TYPE)
    offset = tus.parse_number(upload_offset, "Upload-Offset")
    checksum = None if upload_checksum is None else tus.parse_checksum(upload_checksum)
    async with _open(context, upload) as opened:
        if offset != opened.offset:
            raise UploadConflict(opened.offset, offset)
        if checksum is None:
            await _receive(request, opened)
        else:
            await _receive_checked(request, opened, checksum)
        item = await _finish(context, opened) if opened.is_complete else None
        described = _describe(opened.upload, opened.offset, item)
    return _respond(204, [*described, await _expiry(context.app, upload)])


@delete(
    "/uploads/{upload:str}",
    status_code=204,
    opt=STREAMED,
    operation_id="removeUpload",
    tags=["items"],
    summary="Remove an upload",
    security=CREDENTIALS_REQUIRED,
    responses=error_responses(404, 412, 423),
    response_description="The upload is removed. An item that it has become stays.",
)
async def remove_upload(
    context: InjectedContext, upload: UploadId, tus_resumable: TusResumable = None
) -> Response[None]:
    """Remove an upload of the caller, with all its bytes."""
    _check_version(context, tus_resumable)
    async with _open(context, upload) as opened:
        await run_to_end_in_thread(opened.remove)
    return _respond(204, [])


async def _keep_within_quota(context: ApiContext, upload: Upload) -> None:
    """Remove an upload if others that began at the same moment need the rest of the quota."""
    try:
        await check_quota(context, 0)
    except QuotaExceeded:
        async with _open(context, upload.id) as opened:
            await run_to_end_in_thread(opened.remove)
        raise


def _respond(status: int, headers: Headers) -> Response[None]:
    """Return a response without a body, with the headers of every response."""
    lines = {name.decode(): value.decode("latin-1") for name, value in [*tus.COMMON, NO_STORE, *headers]}
    return Response(None, status_code=status, headers=lines)


def _check_version(context: ApiContext, version: str | None) -> None:
    """Raise UnsupportedTusVersion for another version of the protocol."""
    if (version or "").strip() != tus.VERSION:
        raise UnsupportedTusVersion()


@asynccontextmanager
async def _open(context: ApiContext, upload: str) -> AsyncIterator[OpenUpload]:
    """Open an upload of the caller, which no other request may have open.

    A client that was cut off comes back before the server has noticed, so it waits a moment for its earlier request.
    """
    deadline = asyncio.get_running_loop().time() + _PATIENCE
    while True:
        entered = context.app.uploads.open(upload, context.agent.id)
        try:
            opened = await run_to_end_in_thread(entered.__enter__)
            break
        except UploadInUse:
            if asyncio.get_running_loop().time() >= deadline:
                raise
        await asyncio.sleep(_INTERVAL)
    try:
        yield opened
    finally:
        entered.__exit__(None, None, None)


async def _receive(request: Request, opened: OpenUpload) -> None:
    """Append the body. Whatever ends it, the bytes before that are on disk and count."""
    unwritten = bytearray()
    try:
        async for piece in _iterate_rest(request, opened):
            unwritten += piece
            if len(unwritten) >= _BUFFER:
                await run_to_end_in_thread(_write, opened, unwritten)
    except (BodyTooSlow, ClientDisconnected, BodyTooLarge):
        await run_to_end_in_thread(_write, opened, unwritten, is_last=True)
        raise
    await run_to_end_in_thread(_write, opened, unwritten, is_last=True)


async def _receive_checked(request: Request, opened: OpenUpload, checksum: tus.Checksum) -> None:
    """Append the body if it has this digest; otherwise nothing of it counts."""
    digest = hashlib.new(checksum.algorithm, usedforsecurity=False)
    async for piece in _iterate_rest(request, opened):
        digest.update(piece)
        await run_to_end_in_thread(opened.write, piece)
    if digest.digest() != checksum.digest:
        opened.discard()
        raise ChecksumMismatch(checksum.algorithm, digest.hexdigest())
    await run_to_end_in_thread(opened.sync)


async def _iterate_rest(request: Request, opened: OpenUpload) -> AsyncIterator[bytes]:
    """Yield the parts of the body, which must not be longer than the rest of the upload."""
    most = opened.upload.length - opened.offset
    length = request.header(b"content-length")
    if length is not None and length.isdigit() and int(length) > most:
        raise BodyTooLarge(most)
    size = 0
    async for piece in parts_at_least_rate(request):
        size += len(piece)
        if size > most:
            raise BodyTooLarge(most)
        yield piece


def _write(opened: OpenUpload, unwritten: bytearray, *, is_last: bool = False) -> None:
    opened.write(bytes(unwritten))
    unwritten.clear()
    if is_last or opened.end - opened.offset >= _SYNC_EVERY:
        opened.sync()


async def _finish(context: ApiContext, opened: OpenUpload) -> UploadedItem:
    """Store the file of a complete upload in its item. If the server was stopped in between, this is done again."""
    if opened.item is not None:
        return opened.item
    upload = opened.upload
    metadata = tus.parse_metadata(upload.metadata)
    media_type = stated_media_type(metadata.get("filetype"))
    source = LocalFile(find_file_name(metadata), opened.content, upload.length, media_type)
    stored = await store_files(context, ItemFields.from_fields(metadata), [source], upload.length, token=upload.id)
    item = UploadedItem(stored.holding.label, stored.holding.version, stored.url)
    await run_to_end_in_thread(opened.finish, item)
    return item


def _describe(upload: Upload, offset: int, item: UploadedItem | None) -> Headers:
    headers = [(b"upload-offset", b"%d" % offset), (b"upload-length", b"%d" % upload.length)]
    if upload.metadata:
        headers.append((b"upload-metadata", upload.metadata.encode("latin-1")))
    if item is not None:
        headers.append((b"content-location", encode_location(item.address)))
    return headers


async def _expiry(app: AppContext, upload: str) -> tuple[bytes, bytes]:
    return b"upload-expires", formatdate(await run_in_thread(app.uploads.expires_at, upload), usegmt=True).encode()
