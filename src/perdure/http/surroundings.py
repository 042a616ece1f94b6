"""What the processes of one server have in common, in the environment that they inherit."""

from typing import Final

PLACE: Final = "PERDURE_SERVED_FOLDER"
HOW: Final = "PERDURE_SERVED_OPTIONS"
SECRET: Final = "PERDURE_SERVED_SECRET"  # noqa: S105  (a name; it signs what one process hands out and another takes back)
SESSIONS: Final = "PERDURE_SERVED_SESSIONS"
COUNTED: Final = "PROMETHEUS_MULTIPROC_DIR"  # the library's own name for where several processes count
