"""Ends this process when the one that started it is gone.

A worker that is busy reads no input, so the end of it tells nothing; a parent
that was killed cannot tell either.
"""

import os
import signal
import threading
import time

EVERY = 1.0  # seconds; a look takes some microseconds


def follow():
    """Starts to watch the parent from a thread."""
    parent = os.getppid()

    def watch():
        while os.getppid() == parent:
            time.sleep(EVERY)
        if os.getpgrp() == os.getpid():  # with what was started here, an export for one
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
