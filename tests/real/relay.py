"""A network between two sites that can be slow, and can swallow everything: what is sent is kept, and nobody hears."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress


class Relay:
    """Passes each piece on ``delay_s`` after it came, while it is not ``cut``; nothing is refused and nothing ends then.
    ``to``: the port of this machine behind it; it may be set later. ``asked`` and ``answered`` change what goes there and
    what comes back; nothing of a piece ends the connection."""

    def __init__(self, to: int = 0) -> None:
        self.to = to
        self.delay_s = 0.0
        self.asked: Callable[[bytes], bytes] = bytes
        self.answered: Callable[[bytes], bytes] = bytes
        self._whole = threading.Event()
        self._whole.set()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """From now on nothing arrives."""
        self._whole.clear()

    def heal(self) -> None:
        """What was kept arrives, and all that follows."""
        self._whole.set()

    def refuse(self) -> None:
        """End every connection, and refuse new ones."""
        for one in (self._listener, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def listen(self) -> None:
        """Take connections again after they were refused."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """End it all."""
        self.heal()
        self.refuse()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                incoming, _ = listener.accept()
                self._whole.wait()
                outgoing = None
                with suppress(OSError):
                    outgoing = socket.create_connection(("127.0.0.1", self.to), timeout=5)
                    outgoing.settimeout(None)
                if outgoing is None:
                    incoming.close()
                    continue
                self._open += [incoming, outgoing]
                for source, sink in ((incoming, outgoing), (outgoing, incoming)):
                    is_asked = source is incoming
                    threading.Thread(target=self._carry, args=(source, sink, is_asked), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, is_asked: bool) -> None:
        pieces: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()

        def deliver() -> None:
            with suppress(OSError):
                while True:
                    due, piece = pieces.get()
                    time.sleep(max(0.0, due - time.monotonic()))
                    self._whole.wait()
                    if not piece:
                        sink.shutdown(socket.SHUT_RDWR)
                        return
                    sink.sendall(piece)

        threading.Thread(target=deliver, daemon=True).start()
        piece = b"-"
        while piece:
            try:
                piece = source.recv(65_536)
            except OSError:
                piece = b""
            if piece:
                piece = self.asked(piece) if is_asked else self.answered(piece)
            pieces.put((time.monotonic() + self.delay_s, piece))
