"""What each worker process runs: the application of the registry that the environment names."""

import os
from pathlib import Path

import msgspec

from perdure.http import logs
from perdure.http.app import Application
from perdure.http.surroundings import HOW, PLACE
from perdure.http_options import HttpOptions


def application() -> Application:
    """Called by uvicorn, once in every process."""
    logs.configure()
    options = msgspec.json.decode(os.environ[HOW], type=HttpOptions)
    return Application(Path(os.environ[PLACE]), options)
