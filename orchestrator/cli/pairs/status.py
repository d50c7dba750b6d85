"""``failover status``: shows the state of the pairs, once or continuously."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.live import Live
from rich.text import Text

from orchestrator.cli.render.forms import Form, show_data
from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import presentable, show_document
from orchestrator.cli.runs.signals import until_stopped
from orchestrator.clock import iso
from orchestrator.family.status import StatusPart
from orchestrator.model.inventory import Inventory
from orchestrator.operations.active_runs import OpenRuns
from orchestrator.operations.pairs.status import Row, looks, status_part
from orchestrator.operations.runtime import Tools


def show_survey(
    tools: Tools, inventory: Inventory, only: str | None, *, form: Form, every_s: float | None = None
) -> int:
    """Print the state of the pairs once. With ``every_s``, repeat it every ``every_s`` seconds until it is stopped.

    Returns the exit code of the last reading: 0, or 4 if something is wrong or unknown.
    """
    found = looks(tools, inventory, only)
    simulated = tools.is_simulated(inventory)
    code = 4  # stopped before the first reading
    with until_stopped(), _Paper(simulated, form=form, redraws=every_s is not None) as paper:
        for look in found:
            code = look.exit_code
            paper.put(look.rows, look.held, tools.clock.now(), code)
            look.remember()  # stored after it is shown, because a person waits for it
            if every_s is None:
                break
            tools.clock.sleep(every_s)
    return code


class _Paper:
    """Shows the tables: redrawn in place on a terminal, otherwise one after the other, or as data."""

    def __init__(self, simulated: bool, *, form: Form, redraws: bool) -> None:
        self._simulated, self._form, self._redraws = simulated, form, redraws
        is_text = form in (Form.TEXT, Form.WIDE)
        self._live = Live(auto_refresh=False) if redraws and is_text and sys.stdout.isatty() else None

    def __enter__(self) -> _Paper:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def put(self, rows: Sequence[Row], held: OpenRuns, at: float, code: int) -> None:
        """Show one reading of the pairs, taken at ``at``. ``code`` is the exit code if this is the last one."""
        look = {
            "simulated": self._simulated,
            "at": iso(at),
            "services": [row.as_data() for row in rows],
            "runs": held.document,
        }
        if show_data(self._form, {**look, "exit_code": code}):
            return
        lines = ["SIMULATED"] if self._simulated else []
        if self._redraws:
            lines.append(f"{iso(at)}, until Ctrl-C")
        hints = [f"{row.service}: {row.verdict}: {row.hint}" for row in rows if row.hint]
        text = "\n".join(
            [*lines, *_table(rows, is_wide=self._form is Form.WIDE), *map(presentable, hints), *held.lines()]
        )
        if self._live is None:
            show_document(text)
        else:
            self._live.update(Text(text), refresh=True)


def _table(rows: Sequence[Row], *, is_wide: bool) -> list[str]:
    """A table for each family in the rows."""
    lines: list[str] = []
    for family in dict.fromkeys(row.family for row in rows):
        those = [row for row in rows if row.family == family]
        lines += [*([""] if lines else []), *_drawn(those, status_part(family) if family else None, is_wide=is_wide)]
    return lines


def _drawn(rows: Sequence[Row], part: StatusPart | None, *, is_wide: bool) -> list[str]:
    columns = () if part is None else part.columns
    more = ("pair", "family") if is_wide else ()
    table = plain_table("service", "site", *more, *columns, "", numbers=frozenset() if part is None else part.numbers)
    for row in rows:
        for number, (site, end) in enumerate(row.sites.items()):
            table.add_row(
                row.service if number == 0 else "",
                site,
                *((row.pair, row.family) if is_wide else ()),
                *(() if part is None else map(presentable, part.cells(end))),
                presentable(row.verdict) if number == 0 else "",
            )
    return list(lines_of(table, is_whole=is_wide))
