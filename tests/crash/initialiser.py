"""A program that creates a registry in a folder, to be killed meanwhile.

python -m tests.crash.initialiser FOLDER
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.crash.worker import OPENING

from perdure.folder.registry_folder import make_registry

if __name__ == "__main__":
    os.write(1, OPENING)
    asyncio.run(make_registry(Path(sys.argv[1]), name="Test Library"))
    signal.pause()
