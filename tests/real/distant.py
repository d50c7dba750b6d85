"""Both sites of a pair and its operator in network namespaces, with a cable between each two."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from tests.network.spaces import Spaces, why_not
from tests.real.commands import Operator

CABLES = (("op", "ny"), ("op", "nj"), ("ny", "nj"))


@dataclass
class Distant(Operator):
    """Commands are given from the namespace of the operator."""

    spaces: Spaces = field(kw_only=True)

    def start(self, *words: str) -> subprocess.Popen[str]:
        """See ``Operator``."""
        with self.spaces.inside("op"):
            return super().start(*words)


@contextmanager
def three_spaces() -> Iterator[tuple[Spaces, ExitStack]]:
    """The namespaces, and what ends the servers in them first. Skips the test where there can be none."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    spaces = Spaces(CABLES)
    with ExitStack() as stack:
        try:
            spaces.lay(stack)
            spaces.heal("ny", "nj")  # does the kernel know nftables?
        except subprocess.CalledProcessError as error:
            stack.close()
            pytest.skip(f"no network namespaces here: {' '.join(error.cmd[:4])}: {error.stderr.strip()}")
        yield spaces, stack
