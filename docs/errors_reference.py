"""Write the reference of error codes from the error classes: `make docs-reference`."""

# ruff: noqa: E501  (the rows of Markdown tables are long)

import inspect
import re
from collections.abc import Iterator
from typing import Final

from perdure import errors
from perdure.cli import download
from perdure.cli.remote import api_client
from perdure.http.handle_api import response_codes
from perdure.http.shared import http_errors, problem_json

_HEAD: Final = """\
# Errors

Every error of Perdure has a stable `code`. The code never changes its meaning.

| where | form |
|---|---|
| Python library | an exception below `PerdureError`, with `code` and the attributes below. Invalid names and inputs are also `ValueError`s |
| command | one line on standard error, with a hint about the next step. Exit code 2. (Exit code 1 means that the command worked, and found or refused something.) |
| HTTP API and resolver | a problem document (RFC 9457) with `code`, `detail`, and the attributes that help a program |
| Handle API | `responseCode` and `message` |

A running server explains its codes at `/api/v1/errors` and `/api/v1/errors/{code}`. This page is generated from the error classes.

`HTTP` is the status of the HTTP API and the resolver. `Handle` is the [response code](handle-api.md#response-codes) of the Handle API; the HTTP status there can differ."""
_LIBRARY: Final = """\
## Errors of the library, the command and the server

| error | code | HTTP | Handle | meaning | what to do |
|---|---|---|---|---|---|"""
_SERVER: Final = """\
## Errors of the server only

These concern the HTTP request itself.

| code | HTTP | Handle | meaning | what to do |
|---|---|---|---|---|"""
_COMMAND: Final = """\
## Errors of the command only

| code | meaning | what to do |
|---|---|---|"""
_TAIL: Final = """\
## Positions

`position` counts from 0 and refers to the given text. For a web address it refers to the decoded name.

```pycon
>>> from perdure import InvalidName, ppid
>>> try:
...     ppid.parse_ppid("POID-93b0-4476-560e-5ac2")
... except InvalidName as error:
...     print(error.code, "|", error.part, "|", error.position, "|", error.suggestion)
invalid-name | check digit | 23 | POID-93b0-4476-560e-5ac1

```"""
_CORRECT: Final = "Correct the field that `part` names."
_RETRY: Final = "Wait, then repeat the request."
REMEDIES: Final = {
    "error": "Check the server log. This is a bug in Perdure: please report it.",
    "invalid-name": "Correct the name, or use `suggestion` if there is one.",
    "invalid-input": _CORRECT,
    "out-of-range": _CORRECT,
    "refused-file": "Rename, replace or leave out the file that `path` names, then store the item again.",
    "not-a-collection": "Name the directory of a collection, or make one: `perdure collection create`.",
    "no-such-agent": "List the agents: `perdure agent list --keys`.",
    "name-taken": "Choose another name, or change the existing identifier.",
    "label-prefix-taken": "Choose another host, IP address or port, or change the address of the subsystem that it belongs to (`owner`): `perdure prefix change`.",
    "value-exists": "Choose another `index`, or allow the value to be replaced.",
    "no-such-name": "Check the spelling. `suggestions` are similar names that exist.",
    "no-such-prefix": "Check the prefix, or add it: `perdure prefix add`.",
    "no-such-range": "Request a range below the size of the file, which `Content-Range` states.",
    "no-such-upload": "Begin a new upload: `POST /api/v1/uploads`.",
    "upload-in-use": "Wait until the other request has ended, then ask for the offset (`HEAD`) and continue.",
    "wrong-offset": "Ask for the offset (`HEAD`), and send the rest from there.",
    "too-many-uploads": "Finish or remove (`DELETE`) an upload.",
    "unsupported-tus-version": "Send `Tus-Resumable: 1.0.0`.",
    "digest-mismatch": "Send the body again. If the digest differs again, compute it from the same bytes.",
    "checksum-mismatch": "Send the part again, from the same offset.",
    "quota-exceeded": "Remove what is not needed, or let an administrator raise the quota: `perdure agent quota`.",
    "no-such-peer": "List the other servers: `perdure peer list`.",
    "peer-unavailable": "Check the URL and the network. `perdure peer check` shows the reason.",
    "peer-not-trusted": "Compare the key with the operator of the other server, then accept it: `perdure peer change NAME --accept-key`.",
    "no-such-bulk-change": "List the bulk changes: `perdure bulk list`.",
    "no-such-pool": "List the pools: `perdure pool list`.",
    "no-target": "Show the record instead (`?info`), or give it a URL: `perdure set`.",
    "no-such-collection": "Check the name, or list the collections: `perdure collection list`.",
    "no-such-item": "Check the label, or list the items: `perdure collection list`.",
    "no-such-version": "List the versions: `perdure collection show`.",
    "no-such-file": "List the files: `perdure collection show`.",
    "no-such-value": "Read the record and use one of its indexes.",
    "withdrawn": "Use `replaced_by` if there is one, or reinstate the identifier: `perdure reinstate`.",
    "wrong-state": "Read the record. The operation needs the state that `needed` names.",
    "immutable": "Create a new observation, or revise the reconstruction.",
    "count-unknown": "Set the last issued number: `perdure prefix reset PREFIX --number …`.",
    "not-authorised": "Ask an administrator for the grant: `perdure agent grant`.",
    "bad-key": "Use a valid key. `perdure agent key` makes a new one.",
    "different-identifiers": "Correct the line of the table. If both identifiers mean the same thing, withdraw one of them with the other one as its replacement.",
    "conflict": "Read the current version and decide again. Over HTTP with `If-Match` the status is 412.",
    "clock-behind": "Repeat the request after `Retry-After`. If the clock is wrong, correct it.",
    "clock-jumped": "Correct the clock, and start the program again.",
    "clock-unconfirmed": "Correct the clock, or confirm it: `perdure recover --clock-is-right`.",
    "store-unavailable": "If `safe_to_retry` is true, repeat the request later. Otherwise the message names the cause.",
    "outcome-unknown": "Read the identifier first. Repeat the write only if it is not there.",
    "store-full": "Free disk space or raise the quota, then repeat the request.",
    "store-sealed": "Write to the new store. The message names it. After a cancelled move: `perdure move --give-up`.",
    "item-busy": "Repeat the request when the other one has ended.",
    "store-behind": "Restore the missing files or a backup. To accept the loss: `perdure recover --accept REASON`.",
    "store-damaged": "Run `perdure verify`, and restore a backup.",
    "item-damaged": "Check the item (`perdure collection verify`), and copy it again from another collection.",
    "schema-changed": "Restore a backup from before the change: `perdure restore FILE`.",
    "malformed-request": "Correct the request; `detail` says where.",
    "body-too-large": "Send less, or raise the limit in the [settings](settings.md#http). For a large file, send its `content_hash`.",
    "body-too-slow": "Send it again. Entries that exist already are not changed.",
    "unsupported-body": "Send the media type that `detail` names.",
    "encoded-body": "Send the body without compression.",
    "method-not-allowed": "Use one of the methods in the header `Allow`.",
    "nothing-here": "Check the path.",
    "reserved": "Bind the name first: `perdure bind`.",
    "alias-chain-too-long": "Correct the `HS_ALIAS` values, so that the chain ends after at most ten steps.",
    "redirect-loop": "Tell the operator. One of the two resolvers should not send such names to the other.",
    "peers-unreachable": "Repeat the request after `Retry-After`. The name may exist.",
    "not-acceptable": "Accept one of the media types in `available`.",
    "credentials-in-the-clear": "Use https. Behind a proxy: [`trusted_proxies`](settings.md#http). "
    "In a private network: [`plain_credentials`](settings.md#http).",
    "not-for-this-client": "Add the client's address to [`metrics_clients`](settings.md#http).",
    "from-another-site": "Send the form from a page of this server, or not from a browser.",
    "credentials-needed": "Send [credentials](authentication.md).",
    "too-many-attempts": "Wait for `Retry-After`, then send correct credentials.",
    "too-many-at-once": "Send fewer requests at the same time.",
    "too-busy": _RETRY,
    "mint-queue-full": "Repeat the request after `Retry-After`, or mint from a pool with more subsystems.",
    "server-stops": "Repeat the request after `Retry-After`, with the same `Idempotency-Key` if it had one.",
    "took-too-long": "For a read, repeat the request. For a write, read first, or mint with an `Idempotency-Key`.",
    "not-fetched": "Check the address, or download the file yourself and use `--content FILE`.",
    "server-failed": "Check the address and the network. After a change, read first: it may have been carried out.",
    "precondition-needed": "Send `If-Match` with the `ETag` that you have read, or `If-Match: *`.",
}
_MODULES: Final = (errors.__name__, http_errors.__name__, download.__name__, api_client.__name__)
# Inputs can be wrong in three ways for a Handle client: the request, the handle, or a value.
_INPUT_CODES: Final = "4, 102, 202"


def reference() -> str:
    """Return the whole page."""
    library, server, *commands = (_by_code(module) for module in _MODULES)
    command = {code: kinds for found in commands for code, kinds in found.items()}
    parts = [
        _HEAD,
        "\n".join([_LIBRARY, *map(_library_row, library.values())]),
        "\n".join([_SERVER, *(_server_row(server[code]) for code in sorted(server))]),
        "\n".join([_COMMAND, *(_command_row(command[code]) for code in sorted(command))]),
        _TAIL,
    ]
    return "\n\n".join(parts)


def list_codes() -> list[str]:
    return [code for module in _MODULES for code in _by_code(module)]


def _by_code(module: str) -> dict[str, list[type[errors.PerdureError]]]:
    """Return the error classes by their code, in the module that defines the code first.

    A narrower class with the code of a wider one comes after it.
    """
    found: dict[str, list[type[errors.PerdureError]]] = {}
    for kind in [errors.PerdureError, *_below(errors.PerdureError)]:
        if kind.__module__ in _MODULES:
            found.setdefault(kind.code, []).append(kind)
    return {code: kinds for code, kinds in found.items() if kinds[0].__module__ == module}


def _below(kind: type[errors.PerdureError]) -> Iterator[type[errors.PerdureError]]:
    for narrower in kind.__subclasses__():
        yield narrower
        yield from _below(narrower)


def _library_row(kinds: list[type[errors.PerdureError]]) -> str:
    attributes = ", ".join(f"`{name}`" for name in _attributes(kinds[0]))
    meaning = _meaning(kinds[0]) + (f" Attributes: {attributes}" if attributes else "")
    cells = [f"`{kinds[0].__name__}`", f"`{kinds[0].code}`", _statuses(kinds), _handle_codes(kinds), meaning]
    return _row([*cells, REMEDIES[kinds[0].code]])


def _server_row(kinds: list[type[errors.PerdureError]]) -> str:
    code = kinds[0].code
    return _row([f"`{code}`", _statuses(kinds), _handle_codes(kinds), _meaning(kinds[0]), REMEDIES[code]])


def _command_row(kinds: list[type[errors.PerdureError]]) -> str:
    return _row([f"`{kinds[0].code}`", _meaning(kinds[0]), REMEDIES[kinds[0].code]])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _meaning(kind: type[errors.PerdureError]) -> str:
    first, _, _ = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")
    return " ".join(first.split())


def _attributes(kind: type[errors.PerdureError]) -> list[str]:
    """Return the attributes that the constructors of a class set, those of its bases first."""
    found: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, errors.PerdureError) and "__init__" in vars(base):
            found |= dict.fromkeys(re.findall(r"self\.(\w+)(?!\w|\()", inspect.getsource(vars(base)["__init__"])))
    return [name for name in found if name != "args"]


def _statuses(kinds: list[type[errors.PerdureError]]) -> str:
    return ", ".join(dict.fromkeys(str(problem_json.status_of(kind.__new__(kind))) for kind in kinds))


def _handle_codes(kinds: list[type[errors.PerdureError]]) -> str:
    if issubclass(kinds[0], errors.InvalidInput):
        return _INPUT_CODES
    codes = dict.fromkeys(response_codes.code_of(kind.__new__(kind)) for kind in kinds)
    if kinds[0].__module__ != errors.__name__:  # such an error without a code of its own never reaches a Handle client
        codes.pop(response_codes.ERROR, None)
    return ", ".join(map(str, codes))


if __name__ == "__main__":
    print(reference())
