"""The server of a registry: one listening socket, one or more worker processes, and a graceful shutdown."""

import errno
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
from perdure.http.shared.logging import configure_logging
from perdure.http.shared.proxy_headers import is_loopback
from perdure.http.shared.worker_environment import (
    FOLDER_VARIABLE,
    METRICS_VARIABLE,
    OPTIONS_VARIABLE,
    SECRET_VARIABLE,
    SESSIONS_VARIABLE,
)
from perdure.http.transport.temporary_folder import shared_folder
from perdure.http_options import HttpOptions

_BACKLOG: Final = 4096
_OTHER_FILES: Final = 256  # databases, logs, sockets to a server
_POLL: Final = 0.02  # seconds between two checks of whether the workers answer
_log = structlog.get_logger("perdure.http")


class ListenOptions(NamedTuple):
    """The address to listen on, the number of workers, and the certificate."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"


def serve(
    folder: Path,
    options: HttpOptions,
    listen_options: ListenOptions,
    listening: socket.socket,
    ready: Callable[[str], None],
) -> None:
    """Serve until a signal stops the server. Calls `ready` once, with the URL, when requests are answered."""
    _allow_connections(options.connections)
    if not options.public_url and not is_loopback(listening.getsockname()[0]):
        configure_logging()
        _log.warning(
            "public_url is not set, and other machines can connect: links in responses use the Host header of the "
            "client. Set public_url under [http] to the public URL of the resolver"
        )
    port = listening.getsockname()[1]
    host = f"[{listen_options.host}]" if ":" in listen_options.host else listen_options.host
    url = f"{listen_options.scheme}://{host}:{port}"
    with shared_folder() as shared:
        for name, part in ((METRICS_VARIABLE, "counted"), (SESSIONS_VARIABLE, "sessions")):
            os.environ[name] = str(shared / part)
            os.mkdir(os.environ[name], 0o700)
        os.environ[SECRET_VARIABLE] = secrets.token_hex(32)
        os.environ[FOLDER_VARIABLE] = str(folder.resolve())
        os.environ[OPTIONS_VARIABLE] = msgspec.json.encode(options).decode()
        # At the very end, uvicorn raises the signal that stopped it again. It must have no further effect.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: None)
        config = _uvicorn_config(options, listen_options)
        if listen_options.workers == 1:
            _Server(config, lambda: ready(url)).run(sockets=[listening])
        else:
            threading.Thread(
                target=_wait_until_ready, args=(listening, listen_options, lambda: ready(url)), daemon=True
            ).start()
            Multiprocess(config, sockets=[listening]).run()


class _Server(uvicorn.Server):
    """A uvicorn server that calls `ready` when it has started."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and not self.should_exit:
            self._ready()


def _uvicorn_config(options: HttpOptions, listen_options: ListenOptions) -> uvicorn.Config:
    hsts = [("strict-transport-security", f"max-age={options.hsts_seconds}")]
    return uvicorn.Config(
        "perdure.http.transport.worker:application",
        factory=True,
        http="perdure.http.transport.protocol:Protocol",  # by name: metrics are configured before it is imported
        ws="none",
        loop="uvloop",
        lifespan="on",
        interface="asgi3",
        workers=listen_options.workers,
        log_level="warning",
        access_log=False,
        server_header=False,
        headers=hsts if options.hsts_seconds and listen_options.certificate else [],
        proxy_headers=False,  # the settings decide for each request which proxies are trusted
        backlog=_BACKLOG,
        limit_concurrency=options.connections,
        timeout_graceful_shutdown=ceil(options.shutdown_seconds),
        **_tls_options(listen_options),
    )


def _tls_options(listen_options: ListenOptions) -> dict[str, Any]:
    if listen_options.certificate is None:
        return {}
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(listen_options.certificate, listen_options.private_key)
    except (OSError, ssl.SSLError) as problem:
        reason = f"the certificate or its key cannot be used ({problem})"
        raise InvalidInput("serve", "tls_cert", reason) from None
    return {
        "ssl_certfile": str(listen_options.certificate),
        "ssl_keyfile": None if listen_options.private_key is None else str(listen_options.private_key),
    }


def _allow_connections(connections: int) -> None:
    """Raise the limit of open files: each connection is one, and many systems allow a thousand by default."""
    now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = connections + _OTHER_FILES
    if now != resource.RLIM_INFINITY and now < needed:
        allowed = needed if most == resource.RLIM_INFINITY else min(needed, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(now, allowed), most))


def listen(listen_options: ListenOptions) -> socket.socket:
    """Open the socket that all workers share. Raises an error if the address or the certificate cannot be used."""
    _tls_options(listen_options)
    family = socket.AF_INET6 if ":" in listen_options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((listen_options.host, listen_options.port))
    except OSError as problem:
        listening.close()
        address = f"{listen_options.host}, port {listen_options.port}"
        is_host_wrong = isinstance(problem, socket.gaierror) or problem.errno == errno.EADDRNOTAVAIL
        advice = (
            "choose another host with --host" if is_host_wrong else "choose another port with --port (0: a free one)"
        )
        raise StoreUnavailable(f"cannot listen on {address} ({problem.strerror}): {advice}") from None
    listening.set_inheritable(True)
    return listening


def _wait_until_ready(listening: socket.socket, listen_options: ListenOptions, ready: Callable[[], None]) -> None:
    """Call `ready` when the first of several workers answers. The others accept connections as they start."""
    host, port = listening.getsockname()[:2]
    while True:
        connection: http.client.HTTPConnection
        if listen_options.certificate:
            context = ssl._create_unverified_context()  # noqa: S323  (the connection is to this server)
            connection = http.client.HTTPSConnection(host, port, timeout=5, context=context)
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
