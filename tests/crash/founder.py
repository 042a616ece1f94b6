"""Found a registry, in a process of its own, to be killed meanwhile.

python -m tests.crash.founder FOLDER
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.crash.ground import lay
from tests.crash.worker import OPENING

if __name__ == "__main__":
    os.write(1, OPENING)
    asyncio.run(lay(Path(sys.argv[1])))
    signal.pause()
