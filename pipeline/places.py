"""The places of exports and results: a directory of this machine, or a URI that PyArrow and Spark both understand.

Small documents and footers are read through PyArrow, messages through Spark. The two names differ for one scheme only:
Hadoop's scheme for S3 is ``s3a``.
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
    "free space on the disk and run the same command again; it continues where it stopped. Delete nothing in the "
    "directory, or delete the whole directory to start again"
)
"""What to do if an export could not be written."""

_REACH = "check the name, and check that this machine may read it"
_WRITE = "check the name and the write permission of this account, or run the command again with another --out"
_SCHEME = re.compile(r"^([a-z][a-z0-9+.-]+)://")


@dataclass(frozen=True, slots=True)
class Place:
    """A directory or file. ``name``: as the user typed it. ``path``: its path in ``system``."""

    name: str
    system: fs.FileSystem
    path: str

    @classmethod
    def of(cls, name: str) -> Place:
        """The place with this name. Raises ``DefinitionError`` for a URI that PyArrow does not know."""
        if not _SCHEME.match(name):
            return cls(name, fs.LocalFileSystem(), os.path.abspath(name))  # noqa: PTH100 - what is not there, too
        if "?" in name:
            raise DefinitionError(
                f"{name} has settings after its question mark, but Spark would read these settings as a part of the name",
                hint="give settings of PyArrow in the environment (AWS_ENDPOINT_URL) and settings of Spark with --conf",
            )
        try:
            system, path = fs.FileSystem.from_uri(re.sub(r"^s3[an]://", "s3://", name))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, ValueError) as error:
            raise DefinitionError(f"{name} cannot be used: {str(error).splitlines()[0]}") from error
        return cls(name.rstrip("/"), system, path.rstrip("/"))

    @property
    def is_local(self) -> bool:
        """Is the place on this machine?"""
        return isinstance(self.system, fs.LocalFileSystem)

    @property
    def for_spark(self) -> str:
        """The name for Spark. It is not escaped, because Hadoop takes such names literally."""
        if self.is_local:
            return f"file:{self.path}"
        return re.sub(r"^s3n?://", "s3a://", self.name)

    @property
    def address(self) -> str:
        """The name by which a process with any working directory can open the place. Cluster workers have another one."""
        return self.path if self.is_local else self.name

    @property
    def local(self) -> Path:
        """The path. Local places only."""
        return Path(self.path)

    def child(self, relative: str) -> Place:
        """The place at ``relative`` in this directory."""
        return Place(posixpath.join(self.name, relative), self.system, posixpath.join(self.path, relative))

    def exists(self) -> bool:
        """Does a file or directory of this name exist?"""
        found: bool = self._info().type != fs.FileType.NotFound
        return found

    def _info(self) -> fs.FileInfo:
        try:
            return self.system.get_file_info(self.path)
        except OSError as error:  # the server of a URI does not answer, or refuses
            why = error.strerror or str(error).splitlines()[0]
            raise DefinitionError(
                f"this place cannot be reached: {why}"[:300], file=self.name, hint=_REACH
            ) from error

    def _listed(self) -> list[fs.FileInfo]:
        try:
            found: list[fs.FileInfo] = self.system.get_file_info(fs.FileSelector(self.path))
        except OSError as error:
            why = error.strerror or str(error).splitlines()[0]
            raise DefinitionError(
                f"this directory cannot be listed: {why}"[:300], file=self.name, hint=_REACH
            ) from error
        return found

    def is_directory(self) -> bool:
        """Is it a directory?"""
        found: bool = self._info().type == fs.FileType.Directory
        return found

    def check_can_be_made(self) -> None:
        """Check that this directory can be made, or written to. Local places only. Raises ``DefinitionError``."""
        nearest = next(one for one in (self.local, *self.local.parents) if one.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            raise DefinitionError(f"{self.name} cannot be made: {nearest} is not a writable directory")

    def files(self) -> list[Place]:
        """The files in this directory, by name, without hidden files and files that start with an underscore."""
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
        """The time of the last change of the file, in seconds since the epoch; 0 if unknown."""
        nanoseconds: int | None = self._info().mtime_ns
        return max(nanoseconds or 0, 0) / 1e9

    def size(self) -> int:
        """The size of the file in bytes."""
        return int(self._info().size or 0)

    def open_input(self) -> pa.NativeFile:
        """Open the file for reading at any offset. Raises ``OSError``."""
        return self.system.open_input_file(self.path)

    def read(self) -> bytes:
        """The whole content of a small document. Raises ``DefinitionError`` when it cannot be read."""
        try:
            with self.open_input() as stream:
                data: bytes = stream.read(DOCUMENT_BYTES_MAX + 1)
            if len(data) > DOCUMENT_BYTES_MAX:
                raise DefinitionError(f"this file is larger than {DOCUMENT_BYTES_MAX >> 20} MB", file=self.name)
        except FileNotFoundError as error:
            raise DefinitionError("this file does not exist", file=self.name) from error
        except OSError as error:
            raise DefinitionError(
                f"this file cannot be read: {str(error).splitlines()[0]}", file=self.name
            ) from error
        return data

    def write(self, data: bytes) -> None:
        """Write a small document; on a local disk, all or nothing. Raises ``OutputLost``."""
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
    """Write a file atomically: a reader sees the old file or the whole new file, also after a power cut. Raises
    ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.unlink(missing_ok=True)  # left by a dead process with our process id, or a link of another user
        with beside.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Sync a file, or the names in a directory, to disk. Raises ``OSError``."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(place: Place) -> tuple[Manifest, str]:
    """The manifest of the export at ``place``, and its ``fingerprint_of``. Raises ``DefinitionError``."""
    file = place.child(NAME)
    if not file.exists():
        if not place.exists():
            raise DefinitionError("this export does not exist", file=place.name)
        raise DefinitionError(
            f"{place.name} has no {NAME}, so it is not an export or its collection is not finished",
            hint="run the collection again; it continues where it stopped",
        )
    data = file.read()
    return decode_manifest(data, file.name), fingerprint_of(data)
