"""Writes of stored items: files, forms, and uploads in several parts."""

from base64 import b64encode
from typing import Any

from tests.authorization.actors import LABELS, REGISTRY_ADMIN, right_to
from tests.authorization.openapi_writes import FORM, Write
from tests.authorization.preparation import Stage, without_identifier
from tests.authorization.served_registry import COLLECTION, ServedRegistry
from tests.http.federation.peers import SMALL_ITEM

from perdure.federation.registration import add_peer

FILE, PART = "application/octet-stream", "application/offset+octet-stream"
TUS = {"Tus-Resumable": "1.0.0"}
LENGTH = 6


def upload_headers(**fields: str) -> dict[str, str]:
    pairs = (f"{key} {b64encode(value.encode()).decode()}" for key, value in fields.items())
    return {**TUS, "Upload-Length": str(LENGTH), "Upload-Metadata": ",".join(pairs)}


NEW_ITEM = upload_headers(collection=COLLECTION, subsystem=LABELS, filename="a.txt")


def form(stage: Stage) -> dict[str, Any]:
    return {"subsystem": (None, LABELS), "file": ("a.txt", f"file {stage.number}".encode())}


def content(stage: Stage) -> bytes:
    return f"{stage.number:06}".encode()


def with_item(served_registry: ServedRegistry) -> Stage:
    stage = Stage(served_registry)
    made = served_registry.admin_client.post(f"/api/v1/items/{COLLECTION}", files=form(stage))
    assert made.status_code == 201, made.text
    stage.other = made.json()["label"]
    return stage


def with_upload(served_registry: ServedRegistry) -> Stage:
    """Prepare an upload of the administrator of the whole registry."""
    stage = Stage(served_registry)
    made = served_registry.admin_client.post("/api/v1/uploads", headers=NEW_ITEM)
    assert made.status_code == 201, made.text
    stage.other = made.headers["location"].rpartition("/")[2]
    return stage


def with_copied_item(served_registry: ServedRegistry) -> Stage:
    """Prepare an item of which another server has a copy."""
    stage = Stage(served_registry)
    [(path, small)] = SMALL_ITEM.items()
    fields = {"subsystem": (None, LABELS), "file": (path, small)}
    made = served_registry.admin_client.post(f"/api/v1/items/{COLLECTION}", files=fields)
    assert made.status_code == 201, made.text
    stage.other, stage.one = made.json()["label"], made.json()["digest"]
    url = f"{served_registry.answering_url}/k{stage.number}"
    served_registry.do(add_peer, url, name=f"i{stage.number}.example.org", private=True)
    return stage


def move(stage: Stage) -> dict[str, Any]:
    identity = f"{stage.number:032x}"
    item = {"label": stage.other, "collection": COLLECTION, "version": 1, "digest": stage.one}
    return item | {"server": identity}


ITEMS: dict[str, Write] = {
    "move an original": Write("POST /original-moves", right_to("edit", LABELS), with_copied_item, move),
    "put a file": Write(
        "PUT /items/{collection}/{label}/{path}",
        right_to("edit", LABELS),
        with_item,
        lambda stage: b"changed " + content(stage),
        FILE,
    ),
    "put an item": Write(
        "POST /items/{collection}",
        right_to("mint", LABELS) | right_to("edit", LABELS),
        without_identifier,
        form,
        FORM,
    ),
    "begin an upload": Write(
        "POST /uploads", right_to("mint", LABELS) | right_to("edit", LABELS), without_identifier, headers=NEW_ITEM
    ),
    "continue an upload": Write(
        "PATCH /uploads/{upload}",
        None,
        with_upload,
        content,
        PART,
        also=frozenset({REGISTRY_ADMIN}),
        headers={**TUS, "Upload-Offset": "0"},
    ),
    "remove an upload": Write(
        "DELETE /uploads/{upload}", None, with_upload, also=frozenset({REGISTRY_ADMIN}), headers=TUS
    ),
}
