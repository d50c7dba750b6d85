"""The location of the journal in ``FAILOVER_JOURNAL``, checked before it is written or read.

A file gets the same checks as the journal of the state directory. A server must prove its identity. This module must
never repeat a password from a URL.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

from orchestrator.errors import DefinitionError, JournalUnavailable
from orchestrator.journal.database.embedded_files import refuse_network
from orchestrator.model.inventory import is_this_machine

if TYPE_CHECKING:
    from orchestrator.journal.journal import Journal

JOURNAL_VARIABLE = "FAILOVER_JOURNAL"
PROVE_IT = (
    "the journal's server must prove its identity: name its CA in the URL (sslrootcert=FILE or sslrootcert=system); "
    "another sslmode in the URL overrides this check"
)
# If one of these is set, it decides how the server is checked.
_DECIDED_BY = ("sslmode", "service", "requiressl")
_DECIDED_OUTSIDE = ("PGSSLMODE", "PGSERVICE", "PGREQUIRESSL")


def passwords_of(url: str) -> list[str]:
    """The passwords in a database's URL; a password may also be among its parameters.

    Raises ``DefinitionError`` for a URL that would be split inside a password: a part of the password would then appear
    in an error.
    """
    try:
        parts = urlsplit(url)
        is_one = parts.netloc.count("@") <= 1 and (parts.port is None or parts.port >= 0)
    except ValueError:
        is_one = False
    if not is_one:
        raise DefinitionError(
            f"{JOURNAL_VARIABLE} is not the URL of a database",
            hint="use postgresql+psycopg://user:password@host:port/database; in a password, %40 is @ and %3A is :",
        )
    return [unquote(parts.password or ""), *parse_qs(parts.query).get("password", [])]


def safe_url(url: str, environment: Mapping[str, str]) -> str:
    """``url``, already checked by ``passwords_of``, in the form that is opened.

    A file of SQLite is checked here. A server on another machine must show a certificate unless the URL, or libpq's
    environment, says otherwise. Raises ``DefinitionError`` or ``JournalUnavailable``.
    """
    parts = urlsplit(url)
    if parts.scheme.partition("+")[0] == "sqlite":
        _check_file(url)
        return url
    query = parse_qsl(parts.query, keep_blank_values=True)
    names = {name for name, _ in query}
    is_decided = names.intersection(_DECIDED_BY) or any(environment.get(name) for name in _DECIDED_OUTSIDE)
    if parts.scheme.partition("+")[0] != "postgresql" or is_decided or not any(_is_remote(parts.hostname, query)):
        return url
    return f"{url}{'&' if '?' in url else '?'}sslmode=verify-full"


def _is_remote(host: str | None, query: list[tuple[str, str]]) -> Iterator[bool]:
    """For each host that may be used: is it another machine? A path is a socket of this machine."""
    named = [host] if host else []
    named += [one for name, value in query if name == "host" for one in value.split(",")]
    for one in named:
        yield not one.startswith(("/", "@")) and not is_this_machine(one)


def _check_file(url: str) -> None:
    """Check the file of an embedded journal: only this account may write to it, and no other account may replace it."""
    parts = urlsplit(url)
    name = unquote(url.partition("://")[2].partition("?")[0].removeprefix("/"))
    if parts.netloc or not name.removeprefix("file:") or name.startswith(":"):
        raise DefinitionError(
            f"{JOURNAL_VARIABLE} does not name a file", hint="sqlite:////var/lib/failover/journal.sqlite"
        )
    path = Path(name.removeprefix("file:"))
    try:
        is_ours = is_ours_alone(path.parent)
    except OSError as error:
        raise JournalUnavailable(
            f"the journal {path} cannot be opened: {error.strerror}",
            hint="check that its directory exists and belongs to this account",
        ) from error
    if not is_ours:
        raise DefinitionError(
            f"other accounts can write to the directory of the journal {path}, so its records prove nothing",
            hint=f"make the directory private: chmod 700 {path.parent}; several accounts can share a journal on"
            " PostgreSQL",
        )
    refuse_network(path)
    make_private(path, may_make="mode=ro" not in parts.query)


def is_ours_alone(path: Path) -> bool:
    """True if no other account can write into this directory, or replace it. Raises ``OSError``."""
    real = path.resolve()
    found = real.stat()
    is_owned = {path.lstat().st_uid, found.st_uid} == {os.getuid()}
    above = (folder.stat().st_mode for folder in {*path.absolute().parents, *real.parents})
    is_in_place = all(not mode & stat.S_IWOTH or mode & stat.S_ISVTX for mode in above)
    return is_owned and is_in_place and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def make_private(path: Path, *, may_make: bool = True) -> None:
    """Create the file readable by its owner only, before a library creates it readable by all.

    The library follows links, also links in place of the files that it keeps beside the database. So links are refused.
    An existing file is never opened here: closing it would drop every lock that this process has on it (fcntl(2)), and
    another process would then remove the log that a run is recorded in.
    """
    try:
        if may_make:
            with suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        found = path.lstat()
        if stat.S_ISLNK(found.st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        for end in ("-wal", "-shm", "-journal"):
            if path.with_name(path.name + end).is_symlink():
                raise OSError(errno.ELOOP, f"{path.name}{end} is a link")
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
            raise OSError(errno.EPERM, "the file must be a regular file that only this account can write")
    except OSError as error:
        raise JournalUnavailable(
            f"the journal {path} cannot be opened: {error.strerror}",
            hint="fix the cause (disk full? read-only? a link?); nothing was sent",
        ) from error


def place_of(journal: Journal) -> str:
    """The location of the journal, without the password that a database's URL may have."""
    url: str = journal.engine.url.render_as_string(hide_password=True)
    return url.removeprefix("sqlite:///")
