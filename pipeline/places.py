"""Where exports and results are: a directory of this machine, or a URI that PyArrow and Spark both understand.

Small documents and footers are read through PyArrow, messages through Spark. The names differ for one scheme only:
Hadoop calls S3 ``s3a``.
"""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.files import DOCUMENT_BYTES_MAX
from pipeline.manifest import NAME, Manifest, decode_manifest, fingerprint_of

MAKE_ROOM = (
    "make room on its disk; then the same command continues where it stopped. In the directory itself delete nothing, or "
    "all of it to start again"
)
"""What to do where an export could not be written."""

_REACH = "check its name, and that this machine may read it"
_WRITE = "check the name and that this account may write there, then run the command again with another --out"
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+)://")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file. ``name`` is what the user called it; ``path`` is what ``system`` calls it."""

    name: str
    system: fs.FileSystem
    path: str

    @classmethod
    def of(cls, name: str) -> Place:
        """The place called ``name``. Raises ``DefinitionError`` for a URI that PyArrow does not know."""
        if not _SCHEME.match(name):
            return cls(name, fs.LocalFileSystem(), os.path.abspath(name))  # noqa: PTH100 - what is not there, too
        if "?" in name:
            raise DefinitionError(
                f"{name} has settings behind its question mark, which Spark would read as a part of the name",
                hint="give PyArrow its settings by the environment (AWS_ENDPOINT_URL), and Spark its own by --conf",
            )
        try:
            system, path = fs.FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", name))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError) as error:
            raise DefinitionError(f"{name} cannot be used: {str(error).splitlines()[0]}") from error
        return cls(name.rstrip("/"), system, path.rstrip("/"))

    @property
    def is_local(self) -> bool:
        """Is it a path of this machine?"""
        return isinstance(self.system, fs.LocalFileSystem)

    @property
    def for_spark(self) -> str:
        """What Spark calls it; not escaped, as Hadoop takes such names literally."""
        if self.is_local:
            return f"file:{self.path}"
        return re.sub(r"^s3n?://", "s3a://", self.name)

    @property
    def address(self) -> str:
        """What any process opens it by, whatever directory it works in: a worker of a cluster works in another one."""
        return self.path if self.is_local else self.name

    @property
    def local(self) -> Path:
        """The path; only of a local place."""
        return Path(self.path)

    def child(self, relative: str) -> Place:
        """Something in this directory."""
        return Place(posixpath.join(self.name, relative), self.system, posixpath.join(self.path, relative))

    def exists(self) -> bool:
        """Is there anything of this name?"""
        found: bool = self._info().type != fs.FileType.NotFound
        return found

    def _info(self) -> fs.FileInfo:
        try:
            return self.system.get_file_info(self.path)
        except OSError as error:  # the server of a URI is away, or refuses
            why = error.strerror or str(error).splitlines()[0]
            raise DefinitionError(f"cannot be reached: {why}"[:300], file=self.name, hint=_REACH) from error

    def _listed(self) -> list[fs.FileInfo]:
        try:
            found: list[fs.FileInfo] = self.system.get_file_info(fs.FileSelector(self.path))
        except OSError as error:
            why = error.strerror or str(error).splitlines()[0]
            raise DefinitionError(f"cannot be listed: {why}"[:300], file=self.name, hint=_REACH) from error
        return found

    def is_directory(self) -> bool:
        """Does it hold others?"""
        found: bool = self._info().type == fs.FileType.Directory
        return found

    def check_can_be_made(self) -> None:
        """Could this directory be made here, or written to? Only of a local place. Raises ``DefinitionError``."""
        nearest = next(one for one in (self.local, *self.local.parents) if one.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise DefinitionError(f"{self.name} cannot be made: {nearest} is not a directory that can be written")

    def files(self) -> list[Place]:
        """The files in this directory, by name, but for hidden ones and those that start with an underscore."""
        names = sorted(one.base_name for one in self._listed() if one.type == fs.FileType.File)
        return [self.child(name) for name in names if not name.startswith((".", "_"))]

    def directories(self) -> list[Place]:
        """The directories in this directory, by name."""
        names = sorted(one.base_name for one in self._listed() if one.type == fs.FileType.Directory)
        return [self.child(name) for name in names]

    @property
    def base_name(self) -> str:
        """The last part of its name."""
        return posixpath.basename(self.path)

    def modified_at(self) -> float:
        """When the file was written last, in seconds since the epoch; 0 where that is not known."""
        nanoseconds: int | None = self._info().mtime_ns
        return max(nanoseconds or 0, 0) / 1e9

    def size(self) -> int:
        """How many bytes the file has."""
        return int(self._info().size or 0)

    def open_input(self) -> pa.NativeFile:
        """For reading at any offset. Raises ``OSError``."""
        return self.system.open_input_file(self.path)

    def read(self) -> bytes:
        """All of a small document. Raises ``DefinitionError`` when it cannot be read."""
        try:
            with self.open_input() as stream:
                data: bytes = stream.read(DOCUMENT_BYTES_MAX + 1)
            if len(data) > DOCUMENT_BYTES_MAX:
                raise DefinitionError(f"is larger than {DOCUMENT_BYTES_MAX >> 20} MB", file=self.name)
        except FileNotFoundError as error:
            raise DefinitionError("there is no such file", file=self.name) from error
        except OSError as error:
            raise DefinitionError(f"cannot be read: {str(error).splitlines()[0]}", file=self.name) from error
        return data

    def write(self, data: bytes) -> None:
        """Write a small document; on a local disk all of it or nothing. Raises ``OutputLost``."""
        try:
            if self.is_local:
                write_whole(self.local, data)
                return
            with self.system.open_output_stream(self.path) as stream:
                stream.write(data)
        except OSError as error:
            why = error.strerror or str(error).splitlines()[0]
            hint = "" if self.is_local else _WRITE
            raise OutputLost(f"{self.name} could not be written: {why}", hint=hint) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that whoever looks sees the old one or all of the new one, also after a power cut. Raises
    ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)  # of a process that died, and had our number; or another person's link
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have a file, or the names in a directory, on disk. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(place: Place) -> tuple[Manifest, str]:
    """The manifest of the export at ``place``, and what a report names it by. Raises ``DefinitionError``."""
    file = place.child(NAME)
    if not file.exists():
        if not place.exists():
            raise DefinitionError("there is no such export", file=place.name)
        raise DefinitionError(
            f"{place.name} has no {NAME}: no export, or its collection has not ended",
            hint="end the collection first; it continues where it stopped",
        )
    data = file.read()
    return decode_manifest(data, file.name), fingerprint_of(data)
