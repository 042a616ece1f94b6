"""A program that creates a registry in a store, to be killed meanwhile.

python -m tests.crash.registry_creator FOLDER
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.crash.crash_registry import create_in
from tests.crash.worker import OPENING

if __name__ == "__main__":
    os.write(1, OPENING)
    asyncio.run(create_in(Path(sys.argv[1])))
    signal.pause()
