"""Real processes of the command line, with pipes or at a terminal of their own. For tests marked realtime."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from orchestrator.cli.main import main
from orchestrator.clock import SystemClock
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from simulator.embedded import embedded_inventory
from simulator.solace.account import Tally
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.cli.shell import Ended, hasty_runbook, roles_of

FAILOVER = str(Path(sys.executable).with_name("failover"))
PATIENCE_S = 180.0
# Makes the terminal on its standard input the one that Ctrl-C is typed at, and becomes the program.
_AT_A_TERMINAL = """\
import fcntl, os, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UP, _ERASE_LINE = re.compile(r"\x1b\[([0-9]+)A"), "\x1b[2K"
_PIECES = re.compile(rf"{_ESCAPES.pattern}|[\r\n]|[^\x1b\r\n]+")


@dataclass
class Bench:
    """A folder with an inventory of two simulated sites, a runbook in a hurry, and the processes that use them."""

    folder: Path
    vpns: tuple[VpnLayout, ...] = (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=900),)
    latency: float = 0.002
    environment: Mapping[str, str] = field(default_factory=dict)
    _started: list[subprocess.Popen[Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.folder / "state").mkdir(mode=0o700)
        sites = (
            SiteLayout("ny", ("NY_Appliance1",), self.latency),
            SiteLayout("nj", ("NJ_Appliance1",), self.latency),
        )
        World(WorldLayout(sites, self.vpns), SystemClock(), path=self.world_file).save()
        plain = embedded_inventory(self.world_file).model_dump(mode="json", exclude_defaults=True)
        plain["pairs"][0] |= {"services": [vpn.name for vpn in self.vpns], "transaction_wait": "100ms"}
        for site in plain["sites"].values():
            del site["name"]
        self.inventory.write_text(json.dumps(plain), encoding="utf-8")
        (self.folder / "hasty.yaml").write_text(hasty_runbook("100ms", "100ms"), encoding="utf-8")

    @property
    def inventory(self) -> Path:
        return self.folder / "pair.yaml"

    @property
    def world_file(self) -> Path:
        return self.folder / "pair.json"

    def variables(self) -> dict[str, str]:
        """The environment of a process: what it needs, and nothing of whoever runs the tests."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        own = {"FAILOVER_STATE": "state", "FAILOVER_INVENTORY": "pair.yaml", "FAILOVER_USER": "ann"}
        return {**kept, **own, "LC_ALL": "C.UTF-8", "TERM": "xterm", **self.environment}

    def start(
        self, *arguments: str, before: Sequence[str] = (), stdout: int = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """A process without a terminal; ``before`` is what starts it."""
        process = subprocess.Popen(
            [*before, FAILOVER, *arguments],
            cwd=self.folder,
            env=self.variables(),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._started.append(process)
        return process

    def close(self) -> None:
        """No process is left behind, whatever became of the test."""
        for process in self._started:
            process.kill()
            process.communicate()

    def run(self, *arguments: str, before: Sequence[str] = (), stdout: int = subprocess.PIPE) -> Ended:
        """The same, to its end."""
        process = self.start(*arguments, before=before, stdout=stdout)
        out, err = process.communicate(timeout=PATIENCE_S)
        return Ended(process.returncode, out or "", err)

    def here(self, *arguments: str) -> Ended:
        """The same without a process, where it does not matter that it is one: starting one takes its time."""
        out, err = io.StringIO(), io.StringIO()
        tools = Tools(self.folder / "state", SystemClock(), SecretStore(None), Registry())
        with redirect_stdout(out), redirect_stderr(err):
            code = main(arguments, tools)
        return Ended(code, out.getvalue(), err.getvalue())

    def terminal(self, *arguments: str, columns: int = 100, rows: int = 40) -> Terminal:
        """A process at a terminal."""
        terminal = Terminal(self, arguments, columns, rows)
        self._started.append(terminal.process)
        return terminal

    def world(self) -> World:
        return World.load(self.world_file, SystemClock())

    def lab_world(self) -> World:
        """The world of ``lab up``, as it was left."""
        return World.load(self.folder / "lab" / "world.json", SystemClock())

    def tally(self, vpn: str = "V") -> Tally:
        return self.world().tally(vpn)

    def roles(self, vpn: str = "V") -> tuple[str, str]:
        return roles_of(self.world(), vpn)

    def exported(self) -> list[dict[str, Any]]:
        """The events of the newest run."""
        return [json.loads(line["event"]) for line in self.here("runs", "export", "last").values]


def line_with(process: subprocess.Popen[str], words: str) -> str:
    """The next line of stderr that has ``words``; everything before it is let go by."""
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return line
    raise AssertionError(f"it ended with {process.wait()} and never said {words!r}")


class Terminal:
    """What a person at a terminal sees and types."""

    def __init__(self, bench: Bench, arguments: Sequence[str], columns: int, rows: int) -> None:
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", _AT_A_TERMINAL, FAILOVER, *arguments],
            cwd=bench.folder,
            env=bench.variables(),
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        self.raw = ""
        self._seen = 0

    @property
    def text(self) -> str:
        """All that was shown so far, without colours and movements of the cursor."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n").replace("\r", "\n")

    @property
    def words(self) -> str:
        """The same as one line, however it was broken."""
        return " ".join(self.text.split())

    @property
    def lines(self) -> list[str]:
        """What stays on the screen: of the movements of the cursor those up, and of what is erased whole lines."""
        lines, row = [""], 0
        for piece in _PIECES.findall(self.raw):
            if up := _UP.fullmatch(piece):
                row = max(0, row - int(up[1]))
            elif piece == _ERASE_LINE:
                lines[row] = ""
            elif piece == "\n":
                row += 1
                lines += [""] * (row == len(lines))
            elif not _ESCAPES.fullmatch(piece) and piece != "\r":
                lines[row] += piece
        return lines

    def until(self, words: str) -> str:
        """Waits until ``words`` are shown after what was waited for before; returns what was shown on the way."""
        while (at := self.text.find(words, self._seen)) < 0:
            if not self._read():
                raise AssertionError(f"it ended and never showed {words!r}; it showed:\n{self.text[self._seen :]}")
        shown, self._seen = self.text[self._seen : at], at + len(words)
        return shown

    def type(self, text: str) -> None:
        """Types ``text`` as it is; Enter is a line feed, Ctrl-C is ``\\x03``."""
        os.write(self._master, text.encode())

    def echoes(self) -> bool:
        """Does the terminal show what is typed, as a shell needs it?"""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def hang_up(self) -> int:
        """The line breaks. Returns the exit code."""
        os.close(self._master)
        return self.process.wait(PATIENCE_S)

    def end(self) -> int:
        """Reads on until the program ends. Returns the exit code."""
        while self._read():
            pass
        os.close(self._master)
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], PATIENCE_S)[0]:
            self.process.send_signal(signal.SIGKILL)
            raise AssertionError(f"nothing was shown for {PATIENCE_S:g}s; before that:\n{self.text}")
        try:
            piece = os.read(self._master, 65_536)
        except OSError:  # what Linux answers when the other end is closed
            return False
        self.raw += piece.decode("utf-8", "replace")
        return bool(piece)
