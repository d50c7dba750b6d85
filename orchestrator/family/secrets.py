"""Secrets: where they come from, and how they are kept out of all output.

``SecretStore`` resolves the references of an inventory. From then on its ``Redactor`` replaces each resolved secret,
also in the encodings of protocols: percent-encoding, base64 (at any offset, as in a Basic header, and broken into
lines), XML, JSON, Python and shell quoting. It also replaces the part of a secret that is left where a long text was
cut.

This module must never print, log or raise with a secret, and never write a secret anywhere.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
import shlex
import stat
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote

from orchestrator.errors import DefinitionError
from orchestrator.family.secret_command import TIMEOUT_S, output_of
from orchestrator.model.inventory import SecretRef

MARK = "[redacted]"
FILE_BYTES_MAX = 64 * 1024
# A shorter secret is replaced only as a separate word: replacing the letter "a" in every word would make texts
# unreadable.
_STANDS_ALONE_BELOW = 4
# Answers of devices are cut, never below this number of characters. A cut text then ends here, or continues after an
# ellipsis.
_CUT_FROM = 180
_HALF_MIN = 4
# A run of blanks is checked from its start only. A check from each of its blanks would be far too slow for many blanks.
_BEFORE_A_CUT, _BEHIND_A_CUT = re.compile(r"(?<!\s)\s*(?:\[?…|\Z)"), re.compile(r"…\]?\s*")

# The units of a secret that programs may rewrite: a run of blanks may become one blank, a run of backslashes may become
# longer.
_PARTS = re.compile(r"\s+|\\+|.", re.DOTALL)
# The place where a long word, such as base64, is broken into lines (of 76 columns in mail, of 64 in PEM): the break as
# any program writes it, with the indentation of the next line. An error is one line, so only a blank may be left of the
# break.
_FOLD = re.compile(
    r"(?<=[\w+/%&#;-]{16})"
    r"(?:\s|\\{1,8}[rnt]|(?i:%(?:25){0,3}(?:0[ad9]|20))|(?i:&(?:amp;){0,3}#(?:0{0,5}(?:10|13)|x0{0,5}[ad]);)){1,16}"
)
_AS_LETTERS = {"\n": "n", "\r": "r", "\t": "t", "\f": "f"}
_NAMED = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Redactor:
    """Replaces every secret it has learned by ``[redacted]``. Safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secrets: set[str] = set()
        self._pattern: re.Pattern[str] | None = None
        self._halves = _Halves(())

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"

    def learn(self, secret: str) -> None:
        """From now on ``secret`` and its encoded forms are replaced. The empty text is not a secret."""
        with self._lock:
            if secret and secret not in self._secrets:
                self._secrets = {*self._secrets, secret}
                self._pattern = _pattern(self._secrets)
                self._halves = _Halves({form for one in self._secrets for form in _forms(one)})

    def scrub(self, text: str) -> str:
        """``text`` without secrets. If two secrets overlap, one mark replaces both, and no rest of either is left."""
        pattern = self._pattern
        if pattern is None:
            return text
        spans = [found.span(1) for found in pattern.finditer(text)]
        spans += _across_lines(pattern, text)
        if len(text) >= _CUT_FROM:
            spans += self._halves.spans(text)
        done, parts = 0, []
        for start, end in _joined(sorted(spans)):
            parts += [text[done:start], MARK]
            done = end
        return "".join([*parts, text[done:]])

    def scrub_data(self, data: object) -> object:
        """JSON-like data without secrets: texts, keys included, in mappings, lists and tuples at any depth.

        Numbers are left as they are. Tuples become lists, as in JSON.
        """
        if isinstance(data, str):
            return self.scrub(data)
        if isinstance(data, Mapping):
            return {
                self.scrub(key) if isinstance(key, str) else key: self.scrub_data(value)
                for key, value in data.items()
            }
        if isinstance(data, list | tuple):
            return [self.scrub_data(item) for item in data]
        return data


class SecretStore:
    """Resolves ``SecretRef``; implements the ``Secrets`` of the contract. Each reference is resolved once.

    ``ask`` puts a question on the terminal without echo and returns the answer; None: there is no terminal.
    ``environment`` defaults to the environment of the process. A relative ``file`` is relative to ``folder``, by
    default the working directory; ``~`` is the home directory.
    """

    def __init__(
        self,
        ask: Callable[[str], str] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        redactor: Redactor | None = None,
        command_timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.redactor = redactor or Redactor()
        self._ask = ask
        self._environment = os.environ if environment is None else environment
        self._folder = folder or Path()
        self._command_timeout_s = command_timeout_s
        self._known: dict[tuple[SecretRef, str], str] = {}
        # One lock for each secret, and one for all prompts: two threads must not ask two questions on one terminal. A
        # slow command does not delay a thread that needs another secret.
        self._locks: dict[tuple[SecretRef, str] | str, threading.Lock] = {}

    def __repr__(self) -> str:
        return f"SecretStore({len(self._known)} known)"

    def reveal(self, reference: object, *, what: str) -> str:
        """The secret behind ``reference``. ``what`` names it in a prompt or error: ``password of admin at ny``.

        One prompt serves all calls with the same ``what``; two accounts are two questions. Raises ``DefinitionError``
        if the secret cannot be obtained.
        """
        if not isinstance(reference, SecretRef):
            raise TypeError(f"the reference to a secret must be a SecretRef, not a {type(reference).__name__}")
        key = (reference, what if reference.prompt else "")
        with self._locks.setdefault("prompt" if reference.prompt else key, threading.Lock()):
            if key not in self._known:
                secret = self._resolve(reference, what)
                self.redactor.learn(secret)
                self._known[key] = secret
            return self._known[key]

    def _resolve(self, reference: SecretRef, what: str) -> str:
        if reference.env is not None:
            return self._from_environment(reference.env, what)
        if reference.file is not None:
            return _from_file(self._folder / Path(reference.file).expanduser(), what)
        if reference.command is not None:
            return self._from_command(reference.command, what)
        if reference.inline is not None:
            secret = reference.inline.get_secret_value()
            if not secret:
                raise DefinitionError(f"the {what} is empty", hint="an empty secret is refused")
            return secret
        return self._from_person(what)

    def _from_environment(self, name: str, what: str) -> str:
        if not _VARIABLE.fullmatch(name):
            # ``name`` may be the secret itself, written in the wrong place, so it must not be repeated.
            hint = "env takes the name of an environment variable, such as NY_PASSWORD"
            raise DefinitionError(f"`env` of the {what} is not the name of an environment variable", hint=hint)
        secret = self._environment.get(name)
        if not secret:
            state = "is not set" if secret is None else "is empty"
            raise DefinitionError(f"the {what} is expected in the environment variable {name}, which {state}")
        return secret

    def _from_command(self, command: Sequence[str], what: str) -> str:
        printed = output_of(
            command,
            what,
            environment=self._environment,
            bytes_max=FILE_BYTES_MAX,
            timeout_s=self._command_timeout_s,
        )
        return _text(printed, f"output of the command of the {what}")

    def _from_person(self, what: str) -> str:
        if self._ask is None:
            hint = "use {env: NAME}, {file: PATH} or {command: [PROGRAM, …]} for a run without a person"
            raise DefinitionError(f"the {what} must be typed, but there is no terminal", hint=hint)
        secret = self._ask(what)
        if not secret:
            raise DefinitionError(f"nothing was typed for the {what}")
        return secret


def _from_file(path: Path, what: str) -> str:
    """The content without one newline at its end. The file is checked after it is opened, so that it cannot be
    swapped."""
    try:
        # Without O_NONBLOCK, opening a named pipe would block for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "a file cannot have this name"
        raise DefinitionError(f"the file of the {what} cannot be read: {reason}", file=path) from None
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise DefinitionError(f"the {what} must be in a regular file, but this is not a regular file", file=path)
        if mode & 0o077:
            hint = f"chmod 600 {shlex.quote(str(path))}"
            raise DefinitionError(f"the file of the {what} is open to other accounts", hint=hint, file=path)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)
    return _text(raw, f"file of the {what}", path)


def _text(raw: bytes, source: str, path: Path | None = None) -> str:
    """The secret in ``raw``, without one newline at its end. ``source``: where it was read."""
    if len(raw) > FILE_BYTES_MAX:
        raise DefinitionError(f"the {source} is larger than {FILE_BYTES_MAX // 1024} KiB", file=path)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise DefinitionError(f"the {source} is not UTF-8 text", file=path) from None
    secret = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
    if not secret:
        raise DefinitionError(f"the {source} is empty", file=path)
    return secret


# --- the forms a secret takes ----------------------------------------------------------------------------


def _pattern(secrets: set[str]) -> re.Pattern[str]:
    """A pattern that finds, at each place of a text, a secret that starts there, in any form. Group 1 is the form.

    It looks ahead and consumes nothing, so that overlapping forms are all found. The mark is a form too, so that a
    secret such as "redacted" does not replace a part of a mark. The longest secret comes first.
    """
    forms = []
    for secret in sorted({*secrets, MARK}, key=lambda secret: (-len(secret), secret)):
        inner = secret.strip()
        alone = len(inner) < _STANDS_ALONE_BELOW
        whole = re.escape(secret)
        forms.append(rf"(?<!\w){whole}(?!\w)" if len(secret) < _STANDS_ALONE_BELOW else whole)
        if secret == MARK:
            continue
        if inner:
            spelled = _spelled(inner)
            forms.append(rf"(?<!\w){spelled}(?!\w)" if alone else spelled)
        texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        coded = sorted({form for text in texts for form in _base64_forms(text)}, key=lambda form: (-len(form), form))
        for form in coded:
            forms.append(rf"(?<!\w){_spelled(form)}(?!\w)" if alone else _spelled(form))
    return re.compile(f"(?=({'|'.join(forms)}))")


def _across_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The matches of ``pattern`` after broken lines are joined, as spans of ``text``."""
    ends = [found.span() for found in _FOLD.finditer(text)]
    if not ends:
        return
    # ``starts`` and ``places``: the start of each piece, in the joined text and in ``text``.
    pieces, starts, places, begin, length = [], [], [], 0, 0
    for end, following in (*ends, (len(text), len(text))):
        pieces.append(text[begin:end])
        starts.append(length)
        places.append(begin)
        length, begin = length + end - begin, following

    def place(at: int) -> int:
        piece = bisect_right(starts, at) - 1
        return places[piece] + at - starts[piece]

    for found in pattern.finditer("".join(pieces)):
        yield place(found.start(1)), place(found.end(1) - 1) + 1


def _spelled(text: str) -> str:
    """A pattern for ``text`` in which each character may be written as any program writes it: as it is, behind
    backslashes, percent-encoded, or as an entity. Several encodings in one text, and one inside another, are matched
    too."""
    return "".join(_spelling(found[0]) for found in _PARTS.finditer(text))


def _spelling(part: str) -> str:
    """A pattern for one character, or for a run of blanks or of backslashes. Every repetition has a bound, so that a
    text of many backslashes is read in one pass."""
    if part.isascii() and part.isalnum():
        return part
    if part.startswith("\\"):
        ways = [rf"\\{{{len(part)},{16 * len(part)}}}"]
    elif part.isspace():
        ways = [r"\\{0,8}\s", r"\+", *(rf"\\{{1,8}}{_AS_LETTERS[one]}" for one in sorted({*part} & {*_AS_LETTERS}))]
    else:
        ways = [rf"\\{{0,8}}{re.escape(part)}"]
    ways += ["'\"'\"'", r"'\\''"] if part == "'" else []
    for one in sorted({*part}):
        in_bytes = "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in one.encode("utf-8", "surrogatepass"))
        units = one.encode("utf-16-be", "surrogatepass").hex()
        in_json = "".join(rf"\\{{1,8}}u{units[at : at + 4]}" for at in range(0, len(units), 4))
        named = f"|{_NAMED[one]}" if one in _NAMED else ""
        entity = f"&(?:amp;){{0,3}}(?:#0{{0,5}}{ord(one)}|#x0{{0,5}}{ord(one):x}{named});"
        ways += [f"(?i:{in_bytes})", f"(?i:{in_json})", f"(?i:{entity})", rf"\\{{1,8}}x{ord(one):02x}"]
    return f"(?:{'|'.join(ways)}){'+?' if part.isspace() else ''}"


class _Halves:
    """The beginnings and ends of forms, by the characters next to a cut. A place where no form could have been cut
    takes one check, however many forms there are. So a text full of cuts is read in one pass."""

    def __init__(self, forms: Iterable[str]) -> None:
        # The last characters of each start, and the first characters of each end. The longest comes first, since it
        # covers the others.
        self._before: dict[str, list[tuple[int, str]]] = {}
        self._behind: dict[str, list[tuple[int, str]]] = {}
        for form in forms:
            for size in range(len(form) - 1, _HALF_MIN - 1, -1):
                self._before.setdefault(form[size - _HALF_MIN : size], []).append((size, form))
                start = len(form) - size
                self._behind.setdefault(form[start : start + _HALF_MIN], []).append((size, form))
        for listed in (*self._before.values(), *self._behind.values()):
            listed.sort(key=itemgetter(0), reverse=True)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """The spans of forms that were cut in ``text``: the start of a form before the cut, the end of a form behind
        it."""
        for cut in _BEFORE_A_CUT.finditer(text):
            end = cut.start()
            for size, form in self._before.get(text[max(0, end - _HALF_MIN) : end], ()):
                if size <= end and text.startswith(form[:size], end - size):
                    yield end - size, end
                    break
        for cut in _BEHIND_A_CUT.finditer(text):
            start = cut.end()
            for size, form in self._behind.get(text[start : start + _HALF_MIN], ()):
                if text.startswith(form[-size:], start):
                    yield start, start + size
                    break


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans in the order of their starts, with overlapping spans merged."""
    start, end = 0, 0
    for next_start, next_end in spans:
        if next_start >= end:
            if end:
                yield start, end
            start, end = next_start, next_end
        else:
            end = max(end, next_end)
    if end:
        yield start, end


def _forms(secret: str) -> set[str]:
    """The forms that may leave a half where a text was cut. Never the empty text."""
    return (
        {
            secret,
            " ".join(secret.split()),  # on one line, as errors are
            quote(secret, safe="", errors="surrogatepass"),
            json.dumps(secret)[1:-1],
            json.dumps(secret, ensure_ascii=False)[1:-1],
            html.escape(secret),
            *_base64_forms(secret),
        }
        - {""}
    )


def _base64_forms(secret: str) -> Iterator[str]:
    """Base64 of the secret alone, and its part inside the base64 of a longer text, at each of the offsets.

    A character of base64 holds 6 bits, so a neighbour affects at most one character at either end. Those characters are
    left out. For secrets that are too short to be recognized in this way, only the whole form is used.
    """
    raw = secret.encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(raw).decode()
        yield whole
        yield whole.rstrip("=")
        for offset in range(3):
            first = -(-offset * 8 // 6)
            last = (offset + len(raw)) * 8 // 6
            if last - first >= _STANDS_ALONE_BELOW and len(secret) >= _STANDS_ALONE_BELOW:
                yield encode(bytes(offset) + raw).decode()[first:last]
