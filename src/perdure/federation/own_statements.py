"""The signed statements of this server."""

import time
from typing import Any, Final

import msgspec

from perdure.federation.signed_documents import sign_document
from perdure.federation.statements import ServerStatement, Statement, to_document
from perdure.registry.registry import Registry
from perdure.registry.server_key import ServerKey, open_server_key

_KEY_SECONDS: Final = 5.0  # after which a new key is noticed


class OwnStatements:
    """Signs statements with the key of this server."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._key: ServerKey | None = None
        self._key_until = 0.0

    async def sign(self, statement: Statement, **fields: Any) -> bytes:
        """Return a statement as a signed document, with these fields changed."""
        return sign_document(await self.key(), to_document(msgspec.structs.replace(statement, **fields)))

    async def describe_server(self, url: str, software: str, checkpoint: int) -> ServerStatement:
        """Return who this server is."""
        return ServerStatement(
            server=self._registry.id,
            time=self._registry.current_time(),
            key=(await self.key()).public,
            url=url,
            software=software,
            checkpoint=checkpoint,
        )

    async def key(self) -> ServerKey:
        """Return the key of this server, which is created when it is first needed."""
        if self._key is None or time.monotonic() >= self._key_until:
            self._key = await open_server_key(self._registry)
            self._key_until = time.monotonic() + _KEY_SECONDS
        return self._key
