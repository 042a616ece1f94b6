"""The environment variables by which the server passes its settings to its worker processes."""

from typing import Final

FOLDER_VARIABLE: Final = "PERDURE_SERVED_FOLDER"
OPTIONS_VARIABLE: Final = "PERDURE_SERVED_OPTIONS"
SECRET_VARIABLE: Final = "PERDURE_SERVED_SECRET"  # noqa: S105  (a name; the secret signs tokens that one worker issues and another checks)
SESSIONS_VARIABLE: Final = "PERDURE_SERVED_SESSIONS"
METRICS_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"  # the name is that of prometheus-client
