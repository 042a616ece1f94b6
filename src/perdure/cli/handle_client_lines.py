"""Lines of client code for a user of the Handle API: they work as printed, with the password in HANDLE_PASSWORD."""

import json
import shlex
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import quote

from perdure.registry.handles.users import LIST_INDEX, HandleUser

_EXAMPLE = "example-1"
_TARGET = "https://example.org/"


class ClientExample(NamedTuple):
    """What the lines are for, their language, and the lines."""

    title: str
    language: str
    lines: Sequence[str]


def password_examples(url: str, user: HandleUser, prefix: str) -> list[ClientExample]:
    """Return the lines for clients that authenticate with a password."""
    owner = _owner_of(prefix)
    name = f"{prefix}/{_EXAMPLE}"
    credentials = {
        "client": "rest",
        "handle_server_url": url,
        "username": str(user),
        "password": "YOUR PASSWORD",
        "handleowner": owner,
    }
    return [
        ClientExample(
            "pyhandle",
            "python",
            [
                "import os",
                "from pyhandle.handleclient import RESTHandleClient",
                "client = RESTHandleClient.instantiate_with_username_and_password(",
                f"    {_text(url)}, {_text(str(user))}, os.environ['HANDLE_PASSWORD'], handleowner={_text(owner)})",
                f"client.register_handle({_text(name)}, {_text(_TARGET)}, overwrite=True)",
            ],
        ),
        ClientExample(
            "pyhandle, with credentials.json (only you should be able to read that file)",
            "python",
            [
                "from pyhandle.clientcredentials import PIDClientCredentials",
                "from pyhandle.handleclient import RESTHandleClient",
                "credentials = PIDClientCredentials.load_from_JSON('credentials.json')",
                "client = RESTHandleClient.instantiate_with_credentials(credentials)",
            ],
        ),
        ClientExample("credentials.json", "json", json.dumps(credentials, indent=1, ensure_ascii=False).split("\n")),
        ClientExample(
            "easyhandle (the user name percent-encoded)",
            "python",
            [
                "import os",
                "from easyhandle.client import BasicAuthHandleClient",
                "client = BasicAuthHandleClient.load_from_config({",
                f"    'handle_server_url': {_text(url)}, 'prefix': {_text(prefix)}, 'HTTPS_verify': True,",
                f"    'username': {_text(_escape(user))}, 'password': os.environ['HANDLE_PASSWORD']}})",
            ],
        ),
        ClientExample(
            "curl",
            "sh",
            [
                f'curl --user {shlex.quote(_escape(user))}:"$HANDLE_PASSWORD" --request PUT \\',
                *_curl_lines(url, name, owner),
            ],
        ),
    ]


def certificate_examples(url: str, user: HandleUser, prefix: str) -> list[ClientExample]:
    """Return the lines for clients that authenticate with the private key of a public key."""
    owner = _owner_of(prefix)
    name = f"{prefix}/{_EXAMPLE}"
    subject = f"/CN={str(user).replace('/', chr(92) + '/')}"
    return [
        ClientExample(
            "a certificate for your private key (private.pem)",
            "sh",
            [
                f"openssl req -new -x509 -key private.pem -sha256 -days 3650 -subj {shlex.quote(subject)} \\",
                "    -out certificate.pem",
            ],
        ),
        ClientExample(
            "pyhandle",
            "python",
            [
                "from pyhandle.client.resthandleclient import RESTHandleClient",
                f"client = RESTHandleClient(handle_server_url={_text(url)}, private_key='private.pem',",
                f"    certificate_only='certificate.pem', handleowner={_text(owner)}, HTTPS_verify=True)",
                f"client.register_handle({_text(name)}, {_text(_TARGET)}, overwrite=True)",
            ],
        ),
        ClientExample(
            "curl",
            "sh",
            [
                "curl --cert certificate.pem --key private.pem --request PUT \\",
                "    --header 'Authorization: Handle clientCert=\"true\"' \\",
                *_curl_lines(url, name, owner),
            ],
        ),
    ]


def _curl_lines(url: str, name: str, owner: str) -> list[str]:
    """Return the end of a curl command. It names the list of users as administrators at 100, as pyhandle does."""
    index, _, owner_name = owner.partition(":")
    rights = {"handle": owner_name, "index": int(index), "permissions": "011111110011"}
    values = [
        {"index": 1, "type": "URL", "data": {"format": "string", "value": _TARGET}},
        {"index": 100, "type": "HS_ADMIN", "data": {"format": "admin", "value": rights}},
    ]
    body = json.dumps({"values": values}, ensure_ascii=False)
    return [
        "    --header 'Content-Type: application/json' \\",
        f"    --data {shlex.quote(body)} \\",
        f"    {shlex.quote(f'{url}/api/handles/{quote(name)}')}",
    ]


def _owner_of(prefix: str) -> str:
    """Return the list of the users of a prefix. It is pyhandle's own default for names under that prefix."""
    return f"{LIST_INDEX}:0.NA/{prefix}"


def _escape(user: HandleUser) -> str:
    return quote(str(user), safe="")


def _text(text: str) -> str:
    """Return a text as a literal of Python."""
    return repr(text)
