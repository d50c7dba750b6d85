"""What all tests share: a runner that was started in the background must not teach its children to ignore Ctrl-C."""

from __future__ import annotations

import signal

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Handlers are reset when a program starts, ignored signals are inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
