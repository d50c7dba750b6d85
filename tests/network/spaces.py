"""Network namespaces with cables between them; a cable can lose what it carries, silently."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CUT = "counter drop"
LOSSY = "numgen random mod 100 < 5 counter drop"
_LIBC = ctypes.CDLL(None, use_errno=True)
_NETWORK = 0x40000000  # CLONE_NEWNET


def why_not() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if os.geteuid() != 0:
        return "network namespaces want root"
    missing = [tool for tool in ("ip", "nft") if shutil.which(tool) is None]
    return f"not installed: {', '.join(missing)} (Debian: iproute2, nftables)" if missing else ""


def sh(*words: str, typed: str = "") -> str:
    """Run a command of the system's; what it prints."""
    return subprocess.run(words, input=typed, check=True, capture_output=True, text=True).stdout


@dataclass
class Spaces:
    """Namespaces of this process. ``cables``: which two are connected; each end has an address of its own there."""

    cables: tuple[tuple[str, str], ...]
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)  # packets that were lost, once it is healed
    # Timers heal a cable while the test cuts it again: a rule set is read and replaced by one of them at a time.
    _rules: threading.Lock = field(default_factory=threading.Lock)

    @property
    def names(self) -> list[str]:
        """All of them."""
        return list(dict.fromkeys(name for cable in self.cables for name in cable))

    @staticmethod
    def full(name: str) -> str:
        """What the system calls it."""
        return f"fo{os.getpid()}{name}"

    def _end(self, cable: tuple[str, str], name: str) -> str:
        return f"fo{os.getpid()}c{self.cables.index(cable)}{cable.index(name)}"

    def address(self, of: str, towards: str) -> str:
        """The address of one at its cable to another."""
        cable = self._cable(of, towards)
        return f"10.77.{self.cables.index(cable)}.{cable.index(of) + 1}"

    def _cable(self, one: str, other: str) -> tuple[str, str]:
        return next(cable for cable in self.cables if set(cable) == {one, other})

    def lay(self, stack: ExitStack) -> None:
        """Make them; ``stack`` takes them away. Raises ``CalledProcessError`` where that cannot be."""
        for name in self.names:
            sh("ip", "netns", "add", self.full(name))
            stack.callback(sh, "ip", "netns", "del", self.full(name))
            sh("ip", "-n", self.full(name), "link", "set", "lo", "up")
        for cable in self.cables:
            one, other = (self._end(cable, name) for name in cable)
            near, far = (self.full(name) for name in cable)
            sh("ip", "link", "add", one, "netns", near, "type", "veth", "peer", other, "netns", far)
            for name, mate in (cable, cable[::-1]):
                end = self._end(cable, name)
                sh("ip", "-n", self.full(name), "addr", "add", f"{self.address(name, mate)}/24", "dev", end)
                sh("ip", "-n", self.full(name), "link", "set", end, "up")

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """This thread is in a namespace: sockets that it opens, and processes that it starts, are too."""
        with (
            Path("/proc/thread-self/ns/net").open() as here,
            Path(f"/run/netns/{self.full(name)}").open() as there,
        ):
            _enter(there.fileno())
            try:
                yield
            finally:
                _enter(here.fileno())

    def spoil(self, site: str, mate: str, how: str) -> None:
        """What becomes of the packets between two, in both directions: ``CUT`` or ``LOSSY``."""
        cable = self._cable(site, mate)
        chains = "".join(
            f"chain {hook} {{ type filter hook {hook} priority 0; {word} {self._end(cable, site)} {how}; }}\n"
            for hook, word in (("input", "iifname"), ("output", "oifname"))
        )
        with self._rules:
            self._nft(site, f"table inet {self._table(cable)} {{ {chains} }}\n")

    def heal(self, site: str, mate: str) -> None:
        """The cable is whole. What was lost until now is counted."""
        cable = self._cable(site, mate)
        table = self._table(cable)
        with self._rules:
            self._nft(site, f"table inet {table}\n")  # so that there is one
            listed = sh("ip", "netns", "exec", self.full(site), "nft", "list", "table", "inet", table)
            self.dropped[cable] += sum(map(int, re.findall(r"counter packets (\d+)", listed)))
            self._nft(site, f"table inet {table}\ndelete table inet {table}\n")

    def _table(self, cable: tuple[str, str]) -> str:
        return f"spoilt{self.cables.index(cable)}"

    def _nft(self, site: str, rules: str) -> None:
        sh("ip", "netns", "exec", self.full(site), "nft", "-f", "-", typed=rules)


def _enter(space: int) -> None:
    if _LIBC.setns(space, _NETWORK) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
