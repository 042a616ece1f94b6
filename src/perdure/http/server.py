"""Serve a registry: one listening socket, one or several worker processes, and an end that finishes what was begun."""

import http.client
import os
import resource
import secrets
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from math import ceil
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import structlog
import uvicorn
from uvicorn.supervisors import Multiprocess

from perdure.errors import InvalidInput, StoreUnavailable
from perdure.http import logs
from perdure.http.forwarded import is_loopback
from perdure.http.shared_folder import shared_folder
from perdure.http.surroundings import COUNTED, HOW, PLACE, SECRET, SESSIONS
from perdure.http_options import HttpOptions

_BACKLOG: Final = 4096
_OTHER_FILES: Final = 256  # databases, logs, sockets to a server
_POLL: Final = 0.02  # seconds between two looks at whether the workers answer
_log = structlog.get_logger("perdure.http")


class Place(NamedTuple):
    """Where to listen, and with what certificate."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"


def serve(
    folder: Path, options: HttpOptions, place: Place, listening: socket.socket, ready: Callable[[str], None]
) -> None:
    """Until it is told to stop. `ready` is called once, with the address, when requests are answered."""
    _allow_connections(options.connections)
    if not options.public_url and not is_loopback(listening.getsockname()[0]):
        logs.configure()
        _log.warning(
            "this serves other machines, and public_url is not set: links name whatever host a client says in its Host "
            "header. Set public_url under [http] to the address that readers use"
        )
    port = listening.getsockname()[1]
    host = f"[{place.host}]" if ":" in place.host else place.host
    url = f"{place.scheme}://{host}:{port}"
    with shared_folder() as shared:
        for name, part in ((COUNTED, "counted"), (SESSIONS, "sessions")):
            os.environ[name] = str(shared / part)
            os.mkdir(os.environ[name], 0o700)
        os.environ[SECRET] = secrets.token_hex(32)
        os.environ[PLACE] = str(folder.resolve())
        os.environ[HOW] = msgspec.json.encode(options).decode()
        # uvicorn raises the signal that ended it once more, when everything is finished: it has had its effect by then.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        config = _config(options, place)
        if place.workers == 1:
            _Server(config, lambda: ready(url)).run(sockets=[listening])
        else:
            threading.Thread(target=_wait_until_ready, args=(listening, place, lambda: ready(url)), daemon=True).start()
            Multiprocess(config, sockets=[listening]).run()


class _Server(uvicorn.Server):
    """Says when it has begun."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._ready()


def _config(options: HttpOptions, place: Place) -> uvicorn.Config:
    hsts = [("strict-transport-security", f"max-age={options.hsts_seconds}")]
    return uvicorn.Config(
        "perdure.http.worker:application",
        factory=True,
        http="perdure.http.protocol:Protocol",  # by name: what counts must not be loaded before it knows where to
        ws="none",
        loop="uvloop",
        lifespan="on",
        interface="asgi3",
        workers=place.workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        headers=hsts if options.hsts_seconds and place.certificate else [],
        proxy_headers=False,  # whom to believe is settled per request, from the settings
        backlog=_BACKLOG,
        limit_concurrency=options.connections,
        timeout_graceful_shutdown=ceil(options.shutdown_seconds),
        **_tls(place),
    )


def _tls(place: Place) -> dict[str, Any]:
    if place.certificate is None:
        return {}
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(place.certificate, place.private_key)
    except (OSError, ssl.SSLError) as problem:
        reason = f"the certificate or its key cannot be used ({problem})"
        raise InvalidInput("serve", "tls_cert", reason) from None
    return {
        "ssl_certfile": str(place.certificate),
        "ssl_keyfile": None if place.private_key is None else str(place.private_key),
    }


def _allow_connections(wanted: int) -> None:
    """Each connection is an open file, and many systems let a process have a thousand until it asks for more."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if now != resource.RLIM_INFINITY and now < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, allowed), most))


def listen(place: Place) -> socket.socket:
    """The socket that all workers share; refused if it cannot be had, or if the certificate cannot be used."""
    _tls(place)
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((place.host, place.port))
    except OSError as problem:
        listening.close()
        where = f"{place.host}, port {place.port}"
        is_name = isinstance(problem, socket.gaierror)
        advice = "name another with --host" if is_name else "choose another with --port (0 takes a free one)"
        raise StoreUnavailable(f"cannot listen on {where} ({problem.strerror}): {advice}") from None
    listening.set_inheritable(True)
    return listening


def _wait_until_ready(listening: socket.socket, place: Place, ready: Callable[[], None]) -> None:
    """Several workers: the first that answers is ready, and the others take up what comes meanwhile."""
    host, port = listening.getsockname()[:2]
    while True:
        connection: http.client.HTTPConnection
        if place.certificate:
            trusting = ssl._create_unverified_context()  # noqa: S323  (it is ourselves that we ask)
            connection = http.client.HTTPSConnection(host, port, timeout=5, context=trusting)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == http.client.OK:
                ready()
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(_POLL)
