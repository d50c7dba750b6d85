"""Runs one command of the operator, and ends it if this program dies. So the command never outlives this program
unnoticed.

The guardian is a separate program: ``python -I -S guardian.py``. Its standard input is its lifeline. It gets a line
with two numbers (bytes, words of the command), and those bytes (the words and the variables, each ended by NUL). After
that, only ``.`` comes, which releases the guardian. If the lifeline ends without ``.``, the caller is dead, even after
kill -9, and the guardian ends the command and all processes in its group. A parent-death signal is not enough: it is
bound to one thread, and reaches one process only.

The guardian leads the group of the command. On its standard error it prints, a line each, that the command has
``begun`` (or the ``errno`` why it has not), and the ``code`` with which the command ended. It must never interpret the
command, nor print anything else. It imports only built-in modules, because each command waits for its start.
"""

import _signal  # type: ignore[import-not-found]  # signal itself imports enum
import posix
import select
import sys

GRACE_S = 2.0  # for a command to end by itself once the pipe is closed
_PATH = b"/usr/local/bin:/usr/bin:/bin"


def main() -> None:
    """Run one command until it ends, or until its caller dies."""
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
    posix.dup2(posix.open("/dev/null", posix.O_WRONLY), 1)  # the output ends with the command only
    _say("begun", command)
    while (code := _code_of(command)) is None:
        if 0 in select.select([0, woken], [], [])[0]:
            _end(command, woken)
        posix.read(woken, 1024)
    _say("code", code)
    if sys.stdin.buffer.read(1) != b".":
        _end(None, woken)


def _started(argv: list[bytes], environment: dict[bytes, bytes]) -> int:
    """Start the command, and return its process id. It has no input, and one output for both streams. Raises
    ``OSError``."""
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
    """The command's exit code, or the signal that ended it as a negative number; None while it runs."""
    if command is None:
        return 0
    pid, status = posix.waitpid(command, posix.WNOHANG)
    return posix.waitstatus_to_exitcode(status) if pid else None


def _be_told(number: int, frame: object) -> None:
    """Do nothing: only the wake-up is needed."""


def _say(what: str, number: int) -> None:
    try:
        posix.write(2, f"{what} {number}\n".encode())
    except OSError:  # no reader is left; the closed pipe reports the same
        return


def _end(command: int | None, woken: int) -> None:
    """Ask the group to end, then kill it, including the guardian. ``command`` is None if it has ended."""
    posix.killpg(posix.getpgid(0), _signal.SIGTERM)
    while _code_of(command) is None and select.select([woken], [], [], GRACE_S)[0]:
        posix.read(woken, 1024)
    posix.killpg(posix.getpgid(0), _signal.SIGKILL)


if __name__ == "__main__":
    main()
    posix._exit(0)  # no cleanup is needed, and each command waits for the guardian's end
