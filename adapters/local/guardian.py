"""Is between this program and a command of the operator's own, so that the command never outlives us unnoticed.

A separate program: ``python -I -S guardian.py``. Its standard input is its lifeline: a line with two numbers (bytes,
words of the command), those bytes (the words and the variables, each ended by NUL), and after that nothing comes but
``.``, which releases it. When the line ends without that, whoever held the other end is dead, by kill -9 too, and the
command and all in its group are ended. A parent-death signal would not do: it is bound to one thread, and reaches one
process only.

It leads the group that the command runs in. On its standard error it says, a line each, that the command has ``begun``
(or the ``errno`` why it has not), and the ``code`` with which it ended. It must never interpret the command, nor print
anything else. It imports what is built in and no more: each command waits for its start.
"""

import _signal  # type: ignore[import-not-found]  # signal itself imports enum
import posix
import select
import sys

GRACE_S = 2.0  # for a command to end by itself once the pipe is closed
_PATH = b"/usr/local/bin:/usr/bin:/bin"


def main() -> None:
    """Run one command to its end, or to the end of whoever asked for it."""
    size, count = (int(number) for number in sys.stdin.buffer.readline().split() or (0, 0))
    words = sys.stdin.buffer.read(size).split(b"\0")[:-1]
    if not count or sum(len(word) + 1 for word in words) != size:
        return  # no job came, or only a part of one
    woken, waker = posix.pipe()
    posix.set_blocking(waker, False)
    _signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in (_signal.SIGTERM, _signal.SIGHUP, _signal.SIGCHLD):
        _signal.signal(number, _be_told)  # not ignored: that would be inherited
    try:
        command = _started(words[:count], dict(word.split(b"=", 1) for word in words[count:]))
    except OSError as error:
        _say("errno", error.errno or 0)
        return
    posix.dup2(posix.open("/dev/null", posix.O_WRONLY), 1)  # its output ends when it does, not when we do
    _say("begun", command)
    while (code := _code_of(command)) is None:
        if 0 in select.select([0, woken], [], [])[0]:
            _end(command, woken)
        posix.read(woken, 1024)
    _say("code", code)
    if sys.stdin.buffer.read(1) != b".":
        _end(None, woken)


def _started(argv: list[bytes], environment: dict[bytes, bytes]) -> int:
    """Its number. It has no input, and one output for both. Raises ``OSError``."""
    actions = [(posix.POSIX_SPAWN_OPEN, 0, "/dev/null", posix.O_RDONLY, 0), (posix.POSIX_SPAWN_DUP2, 1, 2)]
    ignored_here = [_signal.SIGPIPE, _signal.SIGXFSZ]
    found = FileNotFoundError(2, "no such program")
    folders = environment.get(b"PATH", _PATH).split(b":")
    for program in [argv[0]] if b"/" in argv[0] else [folder + b"/" + argv[0] for folder in folders]:
        try:
            return posix.posix_spawn(program, argv, environment, file_actions=actions, setsigdef=ignored_here)
        except FileNotFoundError as error:
            found = error
    raise found


def _code_of(command: int | None) -> int | None:
    """Its exit code, or the signal that ended it as a negative number; None while it runs."""
    if command is None:
        return 0
    pid, status = posix.waitpid(command, posix.WNOHANG)
    return posix.waitstatus_to_exitcode(status) if pid else None


def _be_told(number: int, frame: object) -> None:
    """The wake-up is all that is wanted."""


def _say(what: str, number: int) -> None:
    try:
        posix.write(2, f"{what} {number}\n".encode())
    except OSError:  # no reader is left; the closed pipe reports the same
        return


def _end(command: int | None, woken: int) -> None:
    """Ask the group to end, then end it, ourselves included. ``command`` None: it has ended."""
    posix.killpg(posix.getpgid(0), _signal.SIGTERM)
    while _code_of(command) is None and select.select([woken], [], [], GRACE_S)[0]:
        posix.read(woken, 1024)
    posix.killpg(posix.getpgid(0), _signal.SIGKILL)


if __name__ == "__main__":
    main()
    posix._exit(0)  # nothing is left to tidy up, and each command waits for our end too
