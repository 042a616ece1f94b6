"""Request and response schemas of other servers."""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from perdure.http.api.schemas.responses import ResponseSchema
from perdure.http.api.schemas.values import RequestSchema

_MOST_PREFIXES: Final = 5_000

Prefixes = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=2048)], ...],
    Meta(
        max_length=_MOST_PREFIXES,
        description="The prefixes of names that are sent on to this server: of IBI labels or handles, `upn:` with a "
        "resolver ID, `ppid` for persons, or `*` for all names.",
        examples=[["sid.inpe.br/mtc-m18", "ppid"]],
    ),
]
ServerUrl = Annotated[
    str, Meta(min_length=1, max_length=500, description="The base URL.", examples=["https://id.example.org"])
]


class AddPeerRequest(RequestSchema, frozen=True, kw_only=True):
    """Another server. It is contacted, and its key is pinned, unless it is plain or its key is given."""

    url: ServerUrl
    name: Annotated[str, Meta(min_length=1, max_length=100, description="A short name. Default: the host.")] | None = (
        None
    )
    prefixes: Prefixes = ()
    private: Annotated[
        bool, Meta(description="Whether its address may be one of a private network, or of this machine.")
    ] = False
    plain: Annotated[
        bool, Meta(description="A resolver of another kind: readers are redirected to it, and it is never asked.")
    ] = False
    key: Annotated[str, Meta(min_length=1, max_length=100, description="Its public key.")] | None = None


class ChangePeerRequest(RequestSchema, frozen=True, kw_only=True):
    """What changes. `prefixes` replaces all prefixes; `add` and `drop` change some of them."""

    prefixes: Prefixes | None = None
    add: Prefixes = ()
    drop: Prefixes = ()
    url: ServerUrl | None = None
    private: bool | None = None
    accept_key: Annotated[bool, Meta(description="Contact the server, and pin the key with which it signs now.")] = (
        False
    )


class HeldPrefixResponse(ResponseSchema, frozen=True, kw_only=True):
    """A prefix of which a server has names."""

    prefix: str
    role: Literal["original", "copy"]


class PeerResponse(ResponseSchema, frozen=True, kw_only=True):
    """Another server. Without a key, readers are redirected to it, and it is never asked."""

    name: str
    url: str
    prefixes: tuple[str, ...]
    server: Annotated[str, Meta(description="The identity of its registry.")] | None = None
    key: str | None = None
    fingerprint: str | None = None
    private: bool = False
    added: str = ""
    announced_prefixes: Annotated[int, Meta(description="The number of prefixes that it has announced.")] = 0
    announced: tuple[HeldPrefixResponse, ...] | None = None
    checkpoint: Annotated[int, Meta(description="Its newest change when it announced them.")] = 0
    seen: str | None = None
    from_settings: Annotated[bool, Meta(description="Whether it is the upstream of the settings.")] = False


class PeerListResponse(ResponseSchema, frozen=True, kw_only=True):
    """All other servers. The upstream of the settings is the last one."""

    peers: tuple[PeerResponse, ...]


class PeerCheckResponse(ResponseSchema, frozen=True, kw_only=True):
    """The outcome of a check. `problem` says why the server cannot be asked."""

    peer: PeerResponse
    problem: str | None = None


PEER_REQUEST_SCHEMAS: Final[tuple[type[RequestSchema], ...]] = (AddPeerRequest, ChangePeerRequest)
PEER_RESPONSE_SCHEMAS: Final[tuple[type[msgspec.Struct], ...]] = (
    HeldPrefixResponse,
    PeerResponse,
    PeerListResponse,
    PeerCheckResponse,
)
