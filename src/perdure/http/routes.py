"""Every URL of the server, one line each, with its handler.

The application dispatches by these tables, except for names: the resolver finds out what a name is, and passes a person
to its handler. A URL that no table lists is a name.
"""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final, NamedTuple

from perdure.http import health
from perdure.http.api import (
    agent_grants,
    agent_keys,
    agents,
    bulk,
    bulk_changes,
    bulk_minting,
    bulk_observations,
    change_feed,
    error_catalogue,
    gateway,
    history,
    ibi_minting,
    identifiers,
    item_lists,
    item_uploads,
    lifecycle,
    minting,
    observing,
    original_moves,
    peers,
    person_curation,
    pools,
    prefixes,
    resumable_uploads,
    search,
    statistics,
    type_list,
)
from perdure.http.api import persons as api_persons
from perdure.http.api.gateway import ApiGateway, ApiRoute
from perdure.http.api.multipart import FORM
from perdure.http.app_context import AppContext
from perdure.http.error_boundary import ErrorFormat, problem_document
from perdure.http.federation import well_known
from perdure.http.handle_api import (
    endpoint,
    handles_endpoint,
    prefix_endpoint,
    reverse_endpoint,
    session_endpoint,
    site_endpoint,
    verification_endpoint,
)
from perdure.http.items import items_endpoint
from perdure.http.oai_pmh import data_provider
from perdure.http.persons import handler as persons
from perdure.http.persons import vocabulary
from perdure.http.resolver import home_page, resolver, types_page
from perdure.http.shared.api_roots import API_ROOT, HANDLES_ROOT, ITEMS_ROOT
from perdure.http.shared.cors import preflight_response
from perdure.http.shared.http_errors import MalformedRequest
from perdure.http.shared.problem_json import problem_response
from perdure.http.shared.request import Headers, Request, Response

_CLIENT_ROOTS: Final = ("/api", "/hrls")  # not the URLs for monitoring, which proxies restrict by their paths


class Match(Enum):
    """The paths that belong to the URL of a route."""

    EXACT = "the URL itself"
    BELOW = "the URL and every path below it"
    FORMATS = "the URL with or without a suffix that names a format"
    NAME = "a name, which the resolver passes to this handler"


class Route(NamedTuple):
    """A URL and its handler. `interface` is its label in metrics and logs."""

    url: str
    handler: Callable[..., Any]
    interface: str = "resolver"
    match: Match = Match.EXACT
    format_error: ErrorFormat = resolver.format_error
    has_time_limit: bool = True
    answers_preflight: bool = True
    is_readable_anywhere: bool = True  # by pages of other origins

    async def respond(self, app: AppContext, request: Request) -> Response | None:
        """Return the response to a request; None if the handler has written it."""
        is_preflight = request.method == "OPTIONS" and self.answers_preflight
        if is_preflight and request.header(b"access-control-request-method") is not None:
            return preflight_response(request)
        if not request.path.startswith("/"):
            return problem_response(MalformedRequest("the request target is not a path"))
        response: Response | None = await self.handler(app, request)
        return response


class Routes:
    """The routes of one server, and the dispatch by them."""

    def __init__(self, app: AppContext) -> None:
        self.all = _build_routes(app)
        self._exact = {route.url: route for route in self.all if route.match is Match.EXACT}
        self._below = [route for route in self.all if route.match is Match.BELOW]
        self._formats = {route.url: route for route in self.all if route.match is Match.FORMATS}

    def find(self, request: Request) -> Route:
        """Return the route of a request, and store in `request.rest` its path after the URL of the route.

        Some clients join the URLs of the server and of an API with one slash too many. That slash is removed.
        """
        path = request.path
        if path.startswith("//") and any(is_under(single := f"/{path.lstrip('/')}", root) for root in _CLIENT_ROOTS):
            path = request.path = single
        route = self._exact.get(path)
        if route is not None:
            return route
        for route in self._below:
            if is_under(path, route.url):
                request.rest = path[len(route.url) :]
                return route
        stem, _, suffix = path.rpartition(".")
        return (self._formats.get(stem) if suffix else None) or self._formats.get(path) or RESOLVER


def is_under(path: str, root: str) -> bool:
    """Return whether a path is this one, or below it."""
    return path.startswith(root) and (len(path) == len(root) or path[len(root)] == "/")


def _build_routes(app: AppContext) -> tuple[Route, ...]:
    api = ApiGateway(app, API_ROUTES)
    return (
        *ROUTES,
        *(Route(path, vocabulary.vocabulary_response, match=Match.FORMATS) for path in vocabulary.paths(app)),
        _api_route("", api.redirect_to_docs),
        _api_route("/", api.redirect_to_docs),
        _api_route("/docs", api.docs_page),
        _api_route("/docs", api.docs_asset, Match.BELOW),
        _api_route("/openapi.json", api.openapi_document),
        *(_api_route(path, api.respond, match, has_time_limit=False) for path, match in _untimed_paths()),
        _api_route("", api.respond, Match.BELOW),
        _handle_api_route("/api", "handles", endpoint.respond_unknown),
    )


def _untimed_paths() -> Iterator[tuple[str, Match]]:
    """Yield the paths of the operations whose time is not limited as a whole, which move files or many records."""
    roots = {route.path.partition("/{")[0] for route in API_ROUTES if route.is_bulk and "{" in route.path}
    yield from ((root, Match.BELOW) for root in sorted(roots))
    paths = (route.path for route in API_ROUTES if route.is_bulk and route.path.partition("/{")[0] not in roots)
    yield from ((path, Match.EXACT) for path in paths)


def _handle_api_route(url: str, interface: str, handler: Callable[..., Any]) -> Route:
    return Route(url, handler, interface, Match.BELOW, endpoint.format_error)


def _monitoring_route(url: str, handler: Callable[..., Any], *, is_readable_anywhere: bool = True) -> Route:
    return Route(
        url,
        handler,
        "monitoring",
        Match.BELOW,
        problem_document,
        answers_preflight=is_readable_anywhere,
        is_readable_anywhere=is_readable_anywhere,
    )


def _statement_route(path: str, handler: Callable[..., Any], match: Match = Match.EXACT) -> Route:
    return Route(well_known.ROOT + path, handler, "federation", match, problem_document)


def _api_route(
    path: str, handler: Callable[..., Any], match: Match = Match.EXACT, *, has_time_limit: bool = True
) -> Route:
    """Return a route of /api/v1, which answers preflights itself, because it lists the methods of each operation."""
    return Route(API_ROOT + path, handler, "v1", match, gateway.format_error, has_time_limit, answers_preflight=False)


def _tus_route(
    method: str, below: str, handler: Any, options: Callable[[AppContext], Headers] | None = None
) -> ApiRoute:
    return ApiRoute(method, f"/uploads{below}", handler, is_bulk=True, options=options, is_tus=True)


RESOLVER: Final = Route("/{name}", resolver.resolve, match=Match.NAME)

ROUTES: Final = (
    # Pages and documents
    Route("/", home_page.home_response),
    Route("/robots.txt", home_page.robots_response),
    Route("/favicon.ico", home_page.favicon_response),
    Route(types_page.TYPES_PATH, types_page.types_response),
    Route("/context.jsonld", vocabulary.context_response),
    Route("/shapes.ttl", vocabulary.shapes_response),
    # Stored items, their files, and their descriptions
    Route(ITEMS_ROOT, items_endpoint.respond, "items", Match.BELOW, has_time_limit=False),
    # Harvesters
    Route("/oai", data_provider.respond, "oai", format_error=problem_document),
    # Persons, each with or without a suffix that names a format
    Route("/{ppid}", persons.respond, match=Match.NAME),
    Route("/{ppid}/v{version}", persons.respond, match=Match.NAME),
    Route("/{ppid}/claims", persons.respond, match=Match.NAME),
    Route("/{ppid}/observations", persons.respond, match=Match.NAME),
    Route("/{ppid}/history", persons.respond, match=Match.NAME),
    # All other names
    RESOLVER,
    # Statements for other servers
    _statement_route("/server", well_known.server_statement),
    _statement_route("/prefixes", well_known.prefixes_statement),
    _statement_route("/holdings", well_known.holdings_statement),
    _statement_route("/resolve", well_known.name_statement),
    _statement_route("/item", well_known.item_statement),
    _statement_route("", well_known.unknown_statement, Match.BELOW),
    # Monitoring
    _monitoring_route("/healthz", health.liveness),
    _monitoring_route("/readyz", health.readiness),
    _monitoring_route("/metrics", health.metrics_page, is_readable_anywhere=False),
    # The API of Handle servers
    _handle_api_route(HANDLES_ROOT, "handles", handles_endpoint.handles),
    _handle_api_route("/api/prefixes", "prefixes", prefix_endpoint.prefixes),
    _handle_api_route("/api/site", "site", site_endpoint.site),
    _handle_api_route("/api/sessions", "sessions", session_endpoint.sessions),
    _handle_api_route("/api/verifications", "verifications", verification_endpoint.verifications),
    _handle_api_route("/hrls/handles", "reverse", reverse_endpoint.reverse),
)

# The operations of /api/v1, with handlers of bodies that are not JSON.
API_ROUTES: Final = (
    ApiRoute("POST", "/identifiers", minting.mint),
    ApiRoute("POST", "/ibi/{name}", ibi_minting.mint_ibi),
    ApiRoute("GET", "/mint-requests/{name}", ibi_minting.show_mint_request),
    ApiRoute("POST", "/identifiers/bulk", bulk_minting.mint_lines, is_bulk=True),
    ApiRoute("GET", "/identifiers", identifiers.list_identifiers),
    ApiRoute("GET", "/identifiers/{name}", identifiers.show),
    ApiRoute("PATCH", "/identifiers/{name}", identifiers.change),
    ApiRoute("DELETE", "/identifiers/{name}", identifiers.withdraw),
    ApiRoute("POST", "/bindings/{name}", lifecycle.bind),
    ApiRoute("POST", "/values/{name}", lifecycle.add_values),
    ApiRoute("DELETE", "/values/{name}", lifecycle.remove_values),
    ApiRoute("POST", "/redactions/{name}", lifecycle.redact_values),
    ApiRoute("POST", "/reinstatements/{name}", lifecycle.reinstate),
    ApiRoute("POST", "/transfers", lifecycle.transfer),
    ApiRoute("GET", "/history/{name}", history.history),
    ApiRoute("GET", "/versions/{name}", history.version),
    ApiRoute("GET", "/diff/{name}", history.diff),
    ApiRoute("GET", "/search", search.search),
    ApiRoute("GET", "/reverse", search.reverse),
    ApiRoute("GET", "/changes", change_feed.changes),
    ApiRoute("GET", "/statistics/{name}", statistics.name_statistics),
    ApiRoute("GET", "/prefix-statistics/{name}", statistics.prefix_statistics),
    ApiRoute("GET", "/prefixes", prefixes.list_prefixes),
    ApiRoute("POST", "/prefixes", prefixes.add_prefix),
    ApiRoute("GET", "/prefixes/{name}", prefixes.show_prefix),
    ApiRoute("PATCH", "/prefixes/{name}", prefixes.change_prefix),
    ApiRoute("POST", "/derived-prefixes", prefixes.derive_prefix),
    ApiRoute("GET", "/peers", peers.list_peers),
    ApiRoute("POST", "/peers", peers.add_peer),
    ApiRoute("GET", "/peers/{peer}", peers.show_peer),
    ApiRoute("PATCH", "/peers/{peer}", peers.change_peer),
    ApiRoute("DELETE", "/peers/{peer}", peers.remove_peer),
    ApiRoute("POST", "/peers/{peer}/check", peers.check_peer),
    ApiRoute("GET", "/pools", pools.list_pools),
    ApiRoute("POST", "/pools", pools.add_pool),
    ApiRoute("GET", "/pools/{name}", pools.show_pool),
    ApiRoute("PATCH", "/pools/{name}", pools.change_pool),
    ApiRoute("DELETE", "/pools/{name}", pools.remove_pool),
    ApiRoute("GET", "/agents", agents.list_agents),
    ApiRoute("POST", "/agents", agents.add_agent),
    ApiRoute("GET", "/agents/me", agents.me),
    ApiRoute("GET", "/agents/{agent}", agents.show_agent),
    ApiRoute("PATCH", "/agents/{agent}", agents.rename_agent),
    ApiRoute("POST", "/agents/{agent}/retire", agents.retire_agent),
    ApiRoute("POST", "/agents/{agent}/reinstate", agents.reinstate_agent),
    ApiRoute("GET", "/agents/{agent}/keys", agent_keys.list_keys),
    ApiRoute("POST", "/agents/{agent}/keys", agent_keys.new_key),
    ApiRoute("DELETE", "/agents/{agent}/keys/{key}", agent_keys.revoke_key),
    ApiRoute("GET", "/agents/{agent}/grants", agent_grants.list_grants),
    ApiRoute("POST", "/agents/{agent}/grants", agent_grants.give_grants),
    ApiRoute("DELETE", "/agents/{agent}/grants", agent_grants.revoke_grants),
    ApiRoute("GET", "/value-types", type_list.list_value_types),
    ApiRoute("POST", "/imports", bulk.import_identifiers, is_bulk=True),
    ApiRoute("GET", "/exports", bulk.export_identifiers, is_bulk=True),
    ApiRoute("POST", "/bulk-changes", bulk_changes.change_many),
    ApiRoute("GET", "/bulk-changes", bulk_changes.list_bulk_changes),
    ApiRoute("GET", "/bulk-changes/{id}", bulk_changes.show_bulk_change),
    ApiRoute("POST", "/bulk-changes/{id}/undo", bulk_changes.undo_bulk_change),
    ApiRoute("GET", "/collections", item_lists.list_collections),
    ApiRoute("GET", "/collections/{collection}/items", item_lists.list_items),
    ApiRoute("POST", "/items/{collection}", item_uploads.put_item_form, is_bulk=True),
    ApiRoute("PUT", "/items/{collection}/{label}/{path}", item_uploads.put_file, is_bulk=True),
    ApiRoute("POST", "/original-moves", original_moves.move_original),
    _tus_route("POST", "", resumable_uploads.begin_upload, resumable_uploads.tus_options),
    _tus_route("HEAD", "/{upload}", resumable_uploads.show_upload, resumable_uploads.tus_options),
    _tus_route("PATCH", "/{upload}", resumable_uploads.continue_upload),
    _tus_route("DELETE", "/{upload}", resumable_uploads.remove_upload),
    ApiRoute("GET", "/errors", error_catalogue.list_errors),
    ApiRoute("GET", "/errors/{code}", error_catalogue.show_error),
    ApiRoute("POST", "/poid", observing.observe_person, {FORM: observing.observe_upload}),
    ApiRoute("POST", "/observations", bulk_observations.observe_lines, is_bulk=True),
    ApiRoute("POST", "/prid", person_curation.reconstruct),
    ApiRoute("GET", "/{ppid}", api_persons.show),
    ApiRoute("GET", "/{ppid}/validate", api_persons.validate),
    ApiRoute("GET", "/{ppid}/observations", api_persons.observations),
    ApiRoute("GET", "/{ppid}/history", api_persons.history),
    ApiRoute("GET", "/persons", api_persons.find),
    ApiRoute("PUT", "/{ppid}", person_curation.revise),
    ApiRoute("PUT", "/{ppid}/links", person_curation.link),
    ApiRoute("PATCH", "/{ppid}/links", person_curation.change_links),
    ApiRoute("POST", "/{ppid}/merge", person_curation.merge),
    ApiRoute("POST", "/{ppid}/split", person_curation.split),
    ApiRoute("POST", "/{ppid}/undo", person_curation.undo),
    ApiRoute("POST", "/{ppid}/restrict", person_curation.restrict),
    ApiRoute("POST", "/{ppid}/lift-restriction", person_curation.lift_restriction),
    ApiRoute("POST", "/{ppid}/redact", person_curation.redact),
)
