"""Files of this machine as a version of an item of a server: small ones in forms, large ones in parts.

The name of a new item is reserved first. A form can be sent again, because a server stores the same files only once.
An upload in parts (tus 1.0.0) continues after the bytes that the server has, also in another process.
"""

import hashlib
import re
import time
from collections.abc import Mapping, Sequence
from typing import Final
from uuid import uuid4

from perdure.cli.item_deposit import PutRequest, PutResult, announce_name
from perdure.cli.remote import api_client
from perdure.cli.remote.api_client import API_ROOT, ServerFailed
from perdure.cli.remote.identifiers import mint_name
from perdure.cli.remote.item_documents import ItemDocument, RemoteFile, describe_in, look_up_item, require_collection
from perdure.cli.remote.part_upload import PartUpload, begin_upload, find_largest, remove_upload
from perdure.cli.remote.remote_registry import RemoteRegistry
from perdure.cli.remote.sent_files import FileForm, hash_file
from perdure.cli.transfer_progress import show_steps
from perdure.collections.hashed_copy import HashedCopier
from perdure.collections.item_content import ITEM_PAGE
from perdure.collections.item_writer import compare_content
from perdure.collections.source_files import SourceFile
from perdure.collections.work_progress import Progress, Report
from perdure.errors import InvalidInput, NoSuchItem, quote_text
from perdure.names import handle
from perdure.records.record import About
from perdure.registry import Statement
from perdure.registry.entities import Agent

_FORM_FILES: Final = 1_000  # of one form, which makes one version
_FORM_BYTES: Final = 64 << 20  # of all files of a form; a larger file is sent in parts
_ATTEMPTS: Final = 4
_PAUSE: Final = 1.0  # seconds before the second attempt; doubled before each further one
_UPLOAD: Final = "upload"
_UNQUOTABLE: Final = re.compile("%(22|0a|0d)", re.IGNORECASE)  # in a form, it means another character


async def put_files(remote: RemoteRegistry, by: Agent, request: PutRequest) -> PutResult:
    """Store the files in an item of the server. The name of a new item is reserved and shown first."""
    require_collection(remote, request.collection)
    largest = find_largest(remote)
    if request.label is None:
        _let_server_check(remote, request, {"subsystem": request.prefix})
        _check_digests(request)
        label = _reserve_name(remote, request)
        before = None
        present = None if request.token is None else _find_document(remote, request.collection, label)
    else:
        label = look_up_item(remote, request.label).label
        _let_server_check(remote, request, {"label": label})
        _check_digests(request)
        before = present = _find_document(remote, request.collection, label)
        _check_removals(before, request)
    with show_steps(request.totals.size) as report:
        _Deposit(remote, request, label, present, min(_FORM_BYTES, largest * 3 // 4), report).send_all()
    after = describe_in(remote, request.collection, label)
    return _describe(before, after)


class _Deposit:
    """The files of a request on their way into an item."""

    def __init__(
        self,
        remote: RemoteRegistry,
        request: PutRequest,
        label: str,
        before: ItemDocument | None,
        form_bytes: int,
        report: Report,
    ) -> None:
        self._remote = remote
        self._request = request
        self._label = label
        present = () if before is None else before.newest.files
        self._known: dict[str, RemoteFile | None] = {one.path: one for one in present}
        self._is_new = before is None
        self._form_bytes = form_bytes
        self._progress = Progress(report)
        self._waiting: list[SourceFile] = []
        self._size = 0
        self._is_main_due = before is not None and request.main not in (None, before.main_file or ITEM_PAGE)

    def send_all(self) -> None:
        """Send all files that the server does not have in the newest version."""
        self._progress.begin_phase(_UPLOAD)
        with HashedCopier() as copier:
            for number, source in enumerate(self._request.list_sources(), 1):
                is_last = number == self._request.totals.files
                if self._is_stored(source, copier) and not self._carries_main(source, is_last=is_last):
                    self._progress.add_bytes(source.size or 0)
                else:
                    self._send(source)
                self._progress.end_file()
                if is_last:  # now, because a zip file is closed when its last entry was taken
                    self._send_form()
        self._send_form()

    def _is_stored(self, source: SourceFile, copier: HashedCopier) -> bool:
        """Return whether the item has this very file."""
        known = self._known.get(source.path)
        if known is None or known.size != source.size:
            return False
        return known.sha512 == hash_file(source, copier).digests["sha512"]

    def _carries_main(self, source: SourceFile, *, is_last: bool) -> bool:
        """Return whether a file that is stored already is sent again, because another main file was chosen."""
        chosen = self._request.main
        return self._is_main_due and (source.path == chosen or (chosen == ITEM_PAGE and is_last))

    def _send(self, source: SourceFile) -> None:
        size = source.size or 0
        if size > self._form_bytes or _UNQUOTABLE.search(source.path):
            self._send_form()
            self._send_parts(source)
            return
        if len(self._waiting) == _FORM_FILES or self._size + size > self._form_bytes:
            self._send_form()
        self._waiting.append(source)
        self._size += size

    def _send_parts(self, source: SourceFile) -> None:
        fields = {"collection": self._request.collection, "filename": source.path, **self._fields([source.path])}
        if source.media_type is not None:
            fields["filetype"] = source.media_type
        PartUpload(self._remote, source, fields, self._progress).send()
        self._note([source], fields)

    def _send_form(self) -> None:
        if not self._waiting:
            return
        sources, self._waiting, self._size = self._waiting, [], 0
        fields = self._fields([one.path for one in sources])
        form = FileForm(fields, sources)
        headers = form.headers()
        path = f"{API_ROOT}/items/{handle.escape(self._request.collection)}"
        failures = 0
        while True:
            try:
                api_client.transfer(self._remote.server, "POST", path, headers, form.body(self._progress))
                break
            except ServerFailed as problem:
                failures += 1
                if not problem.is_broken or failures == _ATTEMPTS:
                    raise
                time.sleep(_PAUSE * 2 ** (failures - 1))
        self._note(sources, fields)

    def _fields(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the fields of a request. Until the main file is there, a new item leads to its page."""
        fields = {"label": self._label}
        if self._request.message:
            fields["message"] = self._request.message
        chosen = self._request.main
        if chosen is not None and (chosen == ITEM_PAGE or chosen in self._known or chosen in paths):
            fields["main"] = chosen
        elif self._is_new and self._request.totals.files > 1:
            fields["main"] = ITEM_PAGE
        return fields

    def _note(self, sources: Sequence[SourceFile], fields: Mapping[str, str]) -> None:
        """Note what is in the item now."""
        for one in sources:
            self._known.setdefault(one.path, None)
        if fields.get("main") == self._request.main:
            self._is_main_due = False


def _let_server_check(remote: RemoteRegistry, request: PutRequest, item: Mapping[str, str]) -> None:
    """Let the server refuse what the agent may not store, before a name is reserved and before any byte is sent.

    It checks an upload when that begins.
    """
    path, size = "", 0
    for one in request.list_sources():
        if not path or (one.size or 0) > size:
            path, size = one.path, one.size or 0
    fields = {"collection": request.collection, "filename": path, **item}
    remove_upload(remote, begin_upload(remote, max(size, 1), fields))


def _check_digests(request: PutRequest) -> None:
    """Compare all files with the digests that their source lists. Nothing is sent of a bag that is damaged."""
    with HashedCopier() as copier:
        for one in request.list_sources():
            if one.digests:
                compare_content(one, hash_file(one, copier))


def _reserve_name(remote: RemoteRegistry, request: PutRequest) -> str:
    """Mint a name for a new item. For a day, the same token returns the same name."""
    statement = Statement(about=None if request.title is None else About(what=request.title))
    token = uuid4().hex
    if request.token is not None:
        token = hashlib.sha256(f"{len(request.collection)} {request.collection} {request.token}".encode()).hexdigest()
    minted = mint_name(remote, request.prefix, statement, f"put-{token}")
    announce_name(minted.name, minted.alias)
    return minted.name


def _find_document(remote: RemoteRegistry, collection: str, label: str) -> ItemDocument | None:
    try:
        return describe_in(remote, collection, label)
    except NoSuchItem:
        return None


def _check_removals(before: ItemDocument | None, request: PutRequest) -> None:
    """Refuse a version without some files of the newest one: over the API, they would stay."""
    if before is None:
        return
    left_out = {one.path for one in before.newest.files}
    for source in request.list_sources():
        left_out.discard(source.path)
    if left_out:
        others = f" and {len(left_out) - 1:,} others" if len(left_out) > 1 else ""
        reason = (
            f"the item has {quote_text(min(left_out))}{others}, which the new version would leave out: with --label, "
            "files can be removed on the machine of the registry only, so add them to what you store"
        )
        raise InvalidInput("collection", "label", reason)


def _describe(before: ItemDocument | None, after: ItemDocument) -> PutResult:
    newest = after.newest
    is_same = before is not None and before.newest.version == newest.version and before.main_file == after.main_file
    return PutResult(after.label, newest.version, len(newest.files), newest.size, is_same, after.holding_fields())
