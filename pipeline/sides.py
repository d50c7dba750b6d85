"""Opens the two exports that are compared, and decides how to read their files. Needs no engine, and reads no
message.

In a table of both sides, the column ``side`` is 0 for left and 1 for right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from orchestrator.errors import DefinitionError
from pipeline.layout import Footer, check_files
from pipeline.manifest import DataFile, Manifest
from pipeline.places import Place, read_manifest
from pipeline.rows import LOG

LEFT, RIGHT = 0, 1
# Checking digests of remote files needs their transfer, so digests are checked only up to this size, in bytes.
_DIGESTS_ELSEWHERE_BYTES = 1 << 30
# Hive's name for a partition without a name.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class Files:
    """Files that are read in the same way. ``service``: the service of the files. None: their directories name it, in
    letters that every Parquet reader reads equally. ``absent``: columns that none of the files has."""

    service: str | None
    absent: frozenset[str]
    paths: Sequence[str]


@dataclass(frozen=True, slots=True)
class Side:
    """One export. ``fingerprint`` identifies its manifest in a report. ``footers``: of its files, in the order of the
    manifest. ``is_digested``: was every file compared with its digest?"""

    place: Place
    manifest: Manifest
    fingerprint: str
    footers: Sequence[Footer]
    is_digested: bool

    @classmethod
    def open(cls, name: str) -> Side:
        """Open the export ``name`` and check every file. Raises ``DefinitionError``."""
        place = Place.of(name)
        manifest, fingerprint = read_manifest(place)
        for file in manifest.files:
            if file.of_service is None:
                raise DefinitionError("the manifest does not say which service this file belongs to", file=file.path)
        is_near = place.is_local or sum(file.bytes for file in manifest.files) <= _DIGESTS_ELSEWHERE_BYTES
        footers = check_files(place, manifest.files, digests=is_near)
        is_digested = is_near and all(file.sha256 is not None for file in manifest.files)
        _check_apart(place, manifest)
        return cls(place, manifest, fingerprint, footers, is_digested)

    @property
    def has_digests(self) -> bool:
        """Was the content of at least one message read, or are there no messages?"""
        undigested = sum(footer.undigested for footer in self.footers)
        return undigested < self.manifest.messages or not self.manifest.messages

    @property
    def has_local(self) -> bool:
        """May the export contain a message that is not replicated?"""
        return any(footer.has_local for footer in self.footers)

    @property
    def has_priorities(self) -> bool:
        """May any message have a priority?"""
        return any(footer.has_priorities for footer in self.footers)

    @property
    def has_logs(self) -> bool:
        """Does the export contain a transaction log of AMPS?"""
        return any(endpoint.kind == LOG for endpoint in self.manifest.endpoints)

    @property
    def numbers(self) -> Mapping[str, tuple[int, int]]:
        """Lowest and highest number in each file, by its path."""
        return {file.path: one.numbers for file, one in zip(self.manifest.files, self.footers, strict=True)}

    def files(
        self, services: Collection[str], only: Collection[str] | None = None, *, is_each_named: bool = False
    ) -> list[Files]:
        """The files of these services, grouped by how to read them. ``only``: files with these paths only.
        ``is_each_named``: every group names its service, and no directory name is used."""
        told = [
            ((file.of_service if is_each_named else _as_named(file), sorted(footer.absent)), file.path)
            for file, footer in zip(self.manifest.files, self.footers, strict=True)
            if file.of_service in services and (only is None or file.path in only)
        ]
        told.sort(key=lambda one: ((one[0][0] is not None, one[0][0] or "", one[0][1]), one[1]))
        return [
            Files(service, frozenset(absent), [path for _, path in some])
            for (service, absent), some in groupby(told, lambda one: one[0])
        ]


def _as_named(file: DataFile) -> str | None:
    """The service of the file, if its directory does not name it reliably: readers treat non-ASCII letters in a path
    differently. Else None."""
    name, told = file.of_service, DataFile(path=file.path, rows=0, bytes=0).of_service
    is_plain = told == name and told not in ("", _HIVE_NULL) and (told or "").isascii()
    return None if is_plain else name


def _check_apart(place: Place, manifest: Manifest) -> None:
    """Raises ``DefinitionError`` when a service has the same file twice, under two names."""
    seen: dict[tuple[str | None, str], str] = {}
    for file in manifest.files:
        if file.sha256 is not None and file.rows:
            other = seen.setdefault((file.of_service, file.sha256), file.path)
            if other != file.path:
                raise DefinitionError(
                    f"this file is the same as {other}, so its messages would count twice",
                    file=place.child(file.path).name,
                    hint="collect the export again",
                )


def check_pair(left: Side, right: Side) -> None:
    """Raises ``DefinitionError`` for two exports that cannot be compared."""
    if left.manifest.site == right.manifest.site:
        raise DefinitionError(f"both exports are of site {left.manifest.site}", hint="give one export of each site")
    if not common_services(left, right):
        raise DefinitionError(
            "the two exports have no service in common", hint="collect the same services at both sites"
        )


def common_services(left: Side, right: Side) -> list[str]:
    """The services that both exports have."""
    return sorted({one.name for one in left.manifest.services} & {one.name for one in right.manifest.services})


def files_of_both(left: Side, right: Side) -> Iterator[tuple[Place, Sequence[DataFile]]]:
    """Each export's place and its files."""
    for side in (left, right):
        yield side.place, side.manifest.files
