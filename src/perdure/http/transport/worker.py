"""The entry point of a worker process: the application of the registry that the environment names."""

import os
from pathlib import Path

import msgspec

from perdure.http.app import Application
from perdure.http.shared.logging import configure_logging
from perdure.http.shared.worker_environment import FOLDER_VARIABLE, OPTIONS_VARIABLE
from perdure.http_options import HttpOptions


def application() -> Application:
    """Create the application. uvicorn calls this once in every process."""
    configure_logging()
    options = msgspec.json.decode(os.environ[OPTIONS_VARIABLE], type=HttpOptions)
    return Application(Path(os.environ[FOLDER_VARIABLE]), options)
