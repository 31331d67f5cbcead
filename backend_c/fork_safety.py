"""Keep a fork from splitting a step that must be whole in the parent or absent in the child.

A forked child copies every open descriptor. A descriptor that another thread has opened but not yet recorded stays open
in the child, which then holds the lock of a file, or a pipe whose end the parent waits for.
"""

from __future__ import annotations

import os
import threading

unforkable = threading.RLock()  # forks wait while another thread holds this lock

os.register_at_fork(before=unforkable.acquire, after_in_parent=unforkable.release, after_in_child=unforkable.release)
