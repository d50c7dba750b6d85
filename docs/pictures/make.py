"""Makes the pictures of the documents from the program itself: `make pictures`. Needs tmux and chromium.

Each picture is what a terminal shows while a command runs on a simulated pair, or the report of that run in a browser.
Nothing is drawn by hand, so a picture that is made again shows the program as it is by then.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FAILOVER = Path(sys.executable).with_name("failover")
WITHIN_S = 120.0
SERVICES = 12
_DARK, _LIGHT = (22, 27, 34), (208, 215, 222)
_GREY, _RED, _GREEN, _YELLOW = (72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)
_BLUE, _PURPLE, _CYAN, _WHITE = (88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)
_COLOURS = TerminalTheme(_DARK, _LIGHT, [_GREY, _RED, _GREEN, _YELLOW, _BLUE, _PURPLE, _CYAN, _WHITE])
# The fonts of rich's drawings would be fetched from another host.
_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
# An inventory of many services, and the world that simulates it; both are made with the program's own parts.
_MANY = """\
import json, sys
from pathlib import Path
from orchestrator.clock import SystemClock
from simulator.embedded import embedded_inventory
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
names = [f"Desk_{number:02}_VPN" for number in range(1, int(sys.argv[1]) + 1)]
vpns = tuple(
    VpnLayout(one, publish_rate=20, drain_rate=300 + 40 * at, backlog=1500 + 450 * at) for at, one in enumerate(names)
)
sites = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
World(WorldLayout(sites, vpns), SystemClock(), path=Path("world.json")).save()
plain = embedded_inventory(Path("world.json").absolute()).model_dump(mode="json", exclude_defaults=True)
plain["pairs"][0] |= {"services": names}
for site in plain["sites"].values():
    del site["name"]
Path("sites.yaml").write_text(json.dumps(plain), encoding="utf-8")
"""


@dataclass
class Terminal:
    """A terminal of tmux, of this size, in a separate folder."""

    folder: Path
    columns: int
    rows: int

    def tmux(self, *words: str) -> str:
        """What tmux answers, of a server that no one else uses."""
        command = ["tmux", "-f", "/dev/null", "-S", str(self.folder / "tmux"), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self) -> None:
        """A shell that shows a plain prompt."""
        size = ("-x", str(self.columns), "-y", str(self.rows))
        own = f"PS1='$ ' PATH={FAILOVER.parent}:$PATH FAILOVER_STATE={self.folder}/state"
        shell = f"cd {self.folder} && {own} exec bash --norc"
        self.tmux("new-session", "-d", *size, shell)
        self.until(r"^\$")

    def type(self, text: str) -> None:
        """A line, with Enter."""
        self.tmux("send-keys", "-l", text)
        self.tmux("send-keys", "Enter")

    def until(self, pattern: str) -> str:
        """The screen, as soon as it shows this."""
        end = time.monotonic() + WITHIN_S
        while not re.search(pattern, screen := self.tmux("capture-pane", "-p"), re.MULTILINE):
            if time.monotonic() > end:
                raise SystemExit(f"{pattern} was not shown within {WITHIN_S:g} s:\n{screen}")
            time.sleep(0.05)
        return screen

    def picture(self, name: str, title: str) -> None:
        """The screen as it is now, as a drawing; lines that are empty at its end are left out."""
        shown = self.tmux("capture-pane", "-e", "-p").rstrip("\n")
        console = Console(
            width=self.columns, record=True, file=StringIO(), force_terminal=True, color_system="truecolor"
        )
        console.print(Text.from_ansi(shown), no_wrap=True, crop=False)
        drawing = console.export_svg(title=title, theme=_COLOURS, unique_id=name)
        drawing = _FONT.sub("", drawing).replace("font-family: Fira Code, monospace", "font-family: monospace")
        (HERE / f"{name}.svg").write_text(drawing, encoding="utf-8")


@contextmanager
def a_terminal(columns: int, rows: int) -> Iterator[Terminal]:
    """One with a fresh state, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "state").mkdir(mode=0o700)
        terminal = Terminal(Path(folder), columns, rows)
        terminal.start()
        try:
            yield terminal
        finally:
            terminal.tmux("kill-server")


def the_plan() -> None:
    """The summary of a planned move, at its question."""
    with a_terminal(100, 24) as terminal:
        terminal.type(f"clear; failover controlled Trading_VPN --xa {ROOT}/examples/demo-decisions.yaml")
        terminal.until(r"\[y/N, d")
        terminal.picture("plan", "failover controlled Trading_VPN")


def the_live_view_and_the_report() -> None:
    """Twelve services while their queues drain, and then the report of that run."""
    with a_terminal(100, 24) as terminal:
        subprocess.run(
            [sys.executable, "-c", _MANY, str(SERVICES)],
            cwd=terminal.folder,
            env={"PYTHONPATH": str(ROOT)},
            check=True,
        )
        terminal.type("clear; failover controlled --all --yes -i sites.yaml")
        terminal.until(r"^[3-9] of [0-9]+ done")
        terminal.picture("live", "failover controlled --all")
        terminal.until(r"^Record: ")
        terminal.type("clear; failover runs report last --html report.html")
        terminal.until(r"report\.html")
        page = terminal.folder / "report.html"
        while not page.exists():
            time.sleep(0.05)
        browser = shutil.which("chromium") or shutil.which("chromium-browser") or "chromium"
        options = [
            "--headless",
            "--no-sandbox",
            "--hide-scrollbars",
            "--window-size=1100,900",
            f"--user-data-dir={terminal.folder}/b",
        ]
        picture = f"--screenshot={HERE / 'report.png'}"
        subprocess.run([browser, *options, picture, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    the_plan()
    the_live_view_and_the_report()
