"""Opens dump files, packed or not, and reports faults of a whole dump."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from gzip import BadGzipFile
from typing import IO, Any

from pipeline.amps.journal_dump import Entry, JournalDump
from pipeline.amps.sow_dump import SowDump, SowRecord
from pipeline.amps.text import Quarantined
from pipeline.places import Place

_BUFFER_BYTES = 1 << 20

CUT_OFF = "the end of the dump is missing: the dump was cut off or is still being written"
OTHER_TOTAL = "the dump reports {told:,} records, but {found:,} were read"


def open_dump(name: str) -> IO[bytes]:
    """The dump's text. A dump may be packed with gzip. Reading a damaged packed dump gives the undamaged start, and then
    raises ``EOFError``, ``zlib.error`` or ``BadGzipFile``."""
    raw: Any = Place.of(name).open_input()
    return io.BufferedReader(_Unpacked(raw) if name.endswith(".gz") else raw, _BUFFER_BYTES)


def pieces_of(text: JournalDump | SowDump) -> Iterator[Entry | SowRecord | Quarantined]:
    """The pieces of a dump. The damaged end of a packed dump is one piece that could not be read."""
    try:
        yield from text
    except (EOFError, BadGzipFile, zlib.error) as error:
        yield Quarantined(text.offset, 0, f"the compressed text is damaged from this position on: {error}", b"")


def remark_on(told: int | None, found: int) -> str | None:
    """A remark on a dump that reports ``told`` records, of which ``found`` were read; None if they agree."""
    if told is None:
        return CUT_OFF
    return None if told == found else OTHER_TOTAL.format(told=told, found=found)


class _Unpacked(io.RawIOBase):
    """Returns each unpacked piece at once. ``GzipFile.readinto`` would keep a piece back until the next piece came."""

    def __init__(self, raw: Any) -> None:
        super().__init__()
        self._raw = raw
        self._file = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        self._raw.close()
        super().close()
