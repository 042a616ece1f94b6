"""Where the key of a server is stored: outside the database."""

from typing import Final

from perdure.errors import StoreDamaged, StoreUnavailable

SERVER_KEY: Final = "server.key"  # in the registry's folder


class ServerKeyStore:
    """The store of the key of a registry that was opened without one: it has none, and cannot create one."""

    def read(self) -> bytes:
        """Return the secret seed."""
        raise StoreUnavailable("this registry was opened without a key to sign with")

    def create(self) -> bytes:
        """Return the secret seed, which is created if there is none."""
        return self.read()

    def replace(self) -> bytes:
        """Return a new secret seed, which replaces the old one."""
        return self.read()


def missing_server_key_error() -> StoreDamaged:
    return StoreDamaged(
        f"the key of this server is not here: restore the file {SERVER_KEY} from its own backup or from a machine that "
        "has it, or make a new key, which each peer must accept (perdure peer identity --new-key)"
    )
