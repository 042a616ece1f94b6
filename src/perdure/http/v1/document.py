"""The OpenAPI document: as the framework draws it up, with the schemas that bodies are really read by."""

from typing import Any, Final, NamedTuple

import msgspec
from litestar import Litestar

from perdure.http.v1.asking import MEANINGS
from perdure.http.v1.bodies import BODIES
from perdure.http.v1.examples import EXAMPLES, IMPORTED, NAMES
from perdure.http.v1.feed import ChangesPage
from perdure.http.v1.person_bodies import NewObservation
from perdure.http.v1.person_examples import FILLED_IN, OBSERVED, TABLE
from perdure.http.v1.person_told import PERSON_TOLD
from perdure.http.v1.sent_form import CONTENT, FORM, OBSERVATION
from perdure.http.v1.sent_values import Sent
from perdure.http.v1.streaming import CSV, NDJSON
from perdure.http.v1.told import TOLD

_REFERENCE: Final = "#/components/schemas/{name}"
_PRECONDITION: Final = "If-Match"
_CREDENTIALS: Final = "401"
_LATER: Final = ("429", "503")
# What is too long to be looked at is refused in one line, before it is known for whom it was.
_TOO_LONG: Final = {
    "414": "The address is longer than this server takes.",
    "431": "The headers are longer than this server takes.",
}
_JSON_LINES: Final = "One JSON object a line."
# What is read as it comes, by operation and media type: what it is, and an example with its title.
_STREAMED: Final = {
    "import": {NDJSON: (_JSON_LINES, "two names", IMPORTED)},
    "observeMany": {
        NDJSON: (_JSON_LINES, "two observations", OBSERVED),
        CSV: ("A table in UTF-8, with its headings first.", "one observation", TABLE),
    },
}
# An observation with its file: the schema of the first part is that of the body without one.
_FORM: Final = {
    "schema": {
        "type": "object",
        "properties": {
            OBSERVATION: {"$ref": _REFERENCE.format(name=NewObservation.__name__)},
            CONTENT: {"type": "string", "format": "binary", "description": "The file: it is hashed, and not kept."},
        },
        "required": [OBSERVATION, CONTENT],
        "additionalProperties": False,
    },
    "encoding": {OBSERVATION: {"contentType": "application/json"}, CONTENT: {"contentType": "*/*"}},
    "examples": {"with a file": {"value": FILLED_IN}},
}


class Operation(NamedTuple):
    """What one method at one path takes."""

    parameters: frozenset[str]
    needed: frozenset[str]
    repeated: frozenset[str]
    body: type[Sent] | None
    is_conditional: bool  # it looks at If-Match itself


def draw_up(app: Litestar) -> dict[str, Any]:
    """The whole document."""
    document: dict[str, Any] = app.openapi_schema.to_schema()
    _, components = msgspec.json.schema_components([*BODIES, *TOLD, *PERSON_TOLD, ChangesPage], ref_template=_REFERENCE)
    document["components"]["schemas"] = components
    for item in document["paths"].values():
        for method, operation in item.items():
            _correct(operation)
            if method != "get":  # whatever is written can be bound to a condition that does not hold
                refused = operation["responses"]["403"]
                operation["responses"].setdefault("412", {**refused, "description": MEANINGS[412]})
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    return plain


def operations(app: Litestar, document: dict[str, Any]) -> dict[str, dict[str, Operation]]:
    """By path and method: what the document says is what is taken."""
    kinds = {
        (route.path_format, method): handler.parsed_data_field
        for route in app.routes
        for handler in getattr(route, "route_handlers", ())
        for method in handler.http_methods
    }
    found: dict[str, dict[str, Operation]] = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            query = [one for one in operation.get("parameters", ()) if one["in"] == "query"]
            body = kinds[path, method.upper()]
            found.setdefault(path, {})[method.upper()] = Operation(
                frozenset(one["name"] for one in query),
                frozenset(one["name"] for one in query if one["required"]),
                frozenset(one["name"] for one in query if one["schema"].get("type") == "array"),
                None if body is None else body.annotation,
                any(one["name"] == _PRECONDITION for one in operation.get("parameters", ())),
            )
    return found


def _correct(operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        for unneeded in ("allowEmptyValue", "allowReserved", "deprecated"):
            parameter.pop(unneeded, None)
        parameter["schema"] = _present(parameter["schema"])
        if parameter["name"] == _PRECONDITION:
            parameter["required"] = True
        if parameter["in"] == "path":
            parameter["schema"]["minLength"] = 1
    operation.pop("deprecated", None)
    for status, response in operation["responses"].items():
        headers = response.setdefault("headers", {})
        for header in headers.values():
            header.setdefault("schema", {"type": "string"})
        if status == _CREDENTIALS:
            headers["WWW-Authenticate"] = {"schema": {"type": "string"}, "description": "What may be given."}
        if status in _LATER:
            headers["Retry-After"] = {"schema": {"type": "string"}, "description": "Seconds."}
        if not headers:
            del response["headers"]
    for status, meaning in _TOO_LONG.items():
        line = {"text/plain": {"schema": {"type": "string"}}}
        operation["responses"][status] = {"description": meaning, "content": line}
    _exemplify(operation)


def _present(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there, or it is not: there is no null among parameters."""
    choices = [one for one in schema.get("oneOf", ()) if one.get("type") != "null"]
    if len(choices) != 1:
        return schema
    rest = {key: value for key, value in schema.items() if key != "oneOf" and value is not None}
    return {**rest, **choices[0]}


def _exemplify(operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    if name in _STREAMED:
        content = {
            media: {"schema": {"description": what}, "examples": {title: {"value": text}}}
            for media, (what, title, text) in _STREAMED[name].items()
        }
        operation["requestBody"] = {"required": True, "content": content}
    if name in (*_STREAMED, "export"):
        operation["responses"]["200"]["content"] = {NDJSON: {"schema": {"type": "string"}}}
    for body in operation.get("requestBody", {}).get("content", {}).values():
        if name in EXAMPLES:
            body["examples"] = {title: {"value": value} for title, value in EXAMPLES[name].items()}
    if name == "observe":
        operation["requestBody"]["content"][FORM] = _FORM
    if name == "mint":
        operation["responses"]["201"]["content"]["application/json"]["examples"] = {"one": {"value": NAMES}}
