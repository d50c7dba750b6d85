"""Whatever a text is made to do to us, reading it ends in time, within little memory, and in a documented way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.attack.bombs import BOMBS, MEMORY_MAX, PROCESSOR_S, kind_of

pytestmark = pytest.mark.realtime
ROOT = Path(__file__).parents[2]


def read_in_a_cell(program: list[str]) -> subprocess.CompletedProcess[str]:
    """The program in a process of its own, that the kernel ends when it takes more than it was given."""
    return subprocess.run([sys.executable, *program], cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("kind", sorted({kind_of(name) for name in BOMBS}))
def test_bombs_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    """Law: within limits of memory and processor time that the kernel holds, and with no other exception."""
    cell = read_in_a_cell(["-m", "tests.attack.bombs", kind, str(tmp_path)])
    wanted = {name: error or "read" for name, (_, error) in BOMBS.items() if kind_of(name) == kind}
    assert dict(line.split() for line in cell.stdout.splitlines()) == wanted, cell.stderr[-2000:]
    assert cell.returncode == 0


@pytest.mark.parametrize(
    ("program", "end"),
    [
        (f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY_MAX},) * 2); bytearray({MEMORY_MAX})", 1),
        (f"import resource; resource.setrlimit(resource.RLIMIT_CPU, (1, {PROCESSOR_S}))\nwhile True: pass", -24),
    ],
)
def test_control_the_limits_hold(program: str, end: int) -> None:
    """Negative control: whoever takes more memory, or more time, does not end well."""
    assert read_in_a_cell(["-c", program]).returncode == end
