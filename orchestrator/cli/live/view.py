"""The state of the live view: the shown rows, their order and first row, or one opened service. Keys change it.

This module draws nothing and reads no clock. ``picture`` makes a frame from its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.ages import seconds
from orchestrator.cli.live.frame import (
    ALARM,
    HEAD,
    NOTE,
    Frame,
    Line,
    Signs,
    columns_for,
    folded,
    heading,
    row_line,
    shortened,
    totals_line,
    width_of,
)
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.rows import ORDERS, Row, chosen, rows_of, totals_of
from orchestrator.cli.render.screen import outage_of_all, wait_text
from orchestrator.cli.render.terminal import presentable
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.engine.deadline import due_at
from orchestrator.model.families import amount
from orchestrator.reports.remedies import at_question

_PANE_LEAST = 6  # the fewest lines for a question; it gets up to two thirds of the room


@dataclass(slots=True)
class View:
    """``title`` is the first line. ``full`` is the length of each queue at the start of its drain. ``told`` are the
    newest events of each service, in words."""

    positions: Positions
    slo: float
    signs: Signs
    pane: Pane
    title: str = ""
    full: dict[str, float] = field(default_factory=dict)
    told: dict[str, tuple[str, ...]] = field(default_factory=dict)
    order: str = "attention"
    wanted: str = ""
    typing: bool = False  # is the filter being typed?
    top: int = 0
    here: str | None = None  # the selected service
    opened: str | None = None
    has_keys: bool = False
    _listed: Sequence[str] = ()
    _height: int = 1
    _names: tuple[int, dict[str, str]] = (0, {})  # the width in cells, and the names shortened to it

    def press(self, key: str) -> None:
        """Handle a key of the table."""
        if self.typing:
            self._filter(key)
        elif key == "/":
            self.typing, self.opened = True, None
        elif key == "s":
            names = list(ORDERS)
            self.order, self.top = names[(names.index(self.order) + 1) % len(names)], 0
        elif key in ("escape", "q"):
            self.opened, self.wanted = (None, self.wanted) if self.opened else (None, "")
            self.here = None
        elif key == "enter":
            self.opened = None if self.opened else self.here or next(iter(self._listed), None)
        else:
            self._move(key)

    def _filter(self, key: str) -> None:
        if key in ("enter", "escape"):
            self.typing = False
            self.wanted = self.wanted if key == "enter" else ""
        elif key == "erase":
            self.wanted = self.wanted[:-1]
        elif len(key) == 1:
            self.wanted += key
        self.top = 0

    def _move(self, key: str) -> None:
        by = {"up": -1, "k": -1, "down": 1, "j": 1, "page-up": -self._height, "page-down": self._height}.get(key)
        ends = {"home": 0, "end": len(self._listed) - 1}.get(key)
        if not self._listed or (by is None and ends is None):
            return
        place = self._listed.index(self.here) if self.here in self._listed else -1 if (by or 0) > 0 else 0
        place = ends if ends is not None else min(max(0, place + (by or 0)), len(self._listed) - 1)
        self.here = self._listed[place]
        self.opened = self.here if self.opened else None
        self.top = min(max(self.top, place - self._height + 1), place)

    def picture(self, run: Run, now: float, width: int, height: int) -> Frame:
        """The frame, at most ``height`` lines."""
        rows = rows_of(run, self.positions, self.full, now, self.slo)
        shown = chosen(rows, self.order, self.wanted)
        self._listed = [row.service for row in shown]
        most = height - 3 - self.has_keys  # the title, the heading and one row are always shown
        below = self._below(run, rows, shown, now, width, most)
        room = max(1, height - len(below) - 2 - self.has_keys)
        body = self._one(run, self.opened, now, width, room) if self.opened else self._table(run, shown, width, room)
        if self.has_keys:
            below.append([(self._keys(len(shown), len(rows)), NOTE)])
        lines: list[Line] = [[(f"{self.title}{_time_left(run, now)}", HEAD)], *body, *below]
        return Frame(lines[:height], width, self.signs.dots)

    def _table(self, run: Run, shown: Sequence[Row], width: int, room: int) -> list[Line]:
        at = columns_for(width, max((width_of(row.service) for row in shown), default=8))
        self._height = room
        self.top = max(0, min(self.top, len(shown) - room))
        steps = len(run.plan.runbook.steps)
        if self._names[0] != at.service:
            self._names = at.service, shortened(list(run.lanes), at.service, self.signs.dots)
        names = self._names[1]
        lines = [
            row_line(row, names[row.service], at, steps, self.slo, self.signs, is_here=row.service == self.here)
            for row in shown[self.top : self.top + room]
        ]
        return [heading(at), *(lines or [[("no service matches the filter", NOTE)]])]

    def _below(
        self, run: Run, rows: Sequence[Row], shown: Sequence[Row], now: float, width: int, most: int
    ) -> list[Line]:
        """The lines below the rows: the selected service in words, the totals, the outage, the question. If there is too
        little room, the last lines stay."""
        totals = totals_of(rows, self.slo)
        left = "" if totals.queue is None else f"{amount(round(totals.queue), run.plan.runbook.family)} queued"
        lines: list[Line] = []
        focus = self.here or (shown[0].service if shown else None)
        words = "" if focus is None or self.opened else _in_words(run, focus, now)
        if words:
            lines.append([(f"{self.signs.here} {presentable(words)}", NOTE)])
        if totals.services > 1 or not words:
            lines.append([(totals_line(totals, left, self.slo), "")])
        outage = outage_of_all(run, self.positions, now)
        if outage:
            lines.append([(outage, ALARM)])
        if self.pane.is_open:
            room = min(most, max(_PANE_LEAST, most * 2 // 3))
            asked = self.pane.shown(room, lambda texts: list(folded(map(presentable, texts), width)))
            lines += [[(line, "")] for line in asked]
        return lines[max(0, len(lines) - most) :]

    def _keys(self, listed: int, services: int) -> str:
        if self.typing:
            return f"filter: {self.wanted}_  (Enter keeps it, Esc clears it)"
        part = (
            f"{self.top + 1:,}-{min(listed, self.top + self._height):,} of {listed:,}"
            if listed > self._height
            else ""
        )
        some = f"filter '{self.wanted}': {listed:,} of {services:,}" if self.wanted else ""
        if self.pane.has_keys:
            return "  ".join(word for word in ("type the answer; Tab: keys for the table", some, part) if word)
        back = "Esc back" if self.opened else "Enter open"
        answer = "Tab answer" if self.pane.takes_keys else ""
        keys = [answer, some, part, "/ filter", f"s sort: {self.order}", "arrows scroll", back]
        return "  ".join(key for key in keys if key)

    def _one(self, run: Run, service: str, now: float, width: int, room: int) -> list[Line]:
        """The lines of one service: its steps and its last events."""
        lane, steps = run.lanes[service], run.plan.runbook.steps
        texts = [
            f"{service}: {lane.outcome or lane.status}{f': {lane.reason or lane.failure}' if lane.reason else ''}"
        ]
        for number, step in enumerate(steps):
            sign = self.signs.tick if number < lane.step else self.signs.here if number == lane.step else " "
            note = wait_text(run, service, now) if number == lane.step and not lane.ended else ""
            texts.append(f"  {sign} [{number + 1}/{len(steps)}] {step.title}{f': {note}' if note else ''}")
        for gate in lane.gates:
            texts.append(f"  ASKS {gate.gate}: {gate.why}: {' / '.join(gate.choices)}")
            texts += [f"    what to do: {at_question(gate.remedy)}"] if gate.remedy else []
        texts += [f"    {text}" for text in self.told.get(service, ())]
        lines = list(folded(map(presentable, texts), width))
        kept = lines if len(lines) <= room else [lines[0], *lines[len(lines) - room + 1 :]]
        return [[(line, HEAD if number == 0 else "")] for number, line in enumerate(kept)]


def _time_left(run: Run, now: float) -> str:
    due = due_at(run)
    if due is None:
        return ""
    return f"; rolls back in {seconds(due - now)}" if due > now else "; the time limit is over"


def _in_words(run: Run, service: str, now: float) -> str:
    """The present step of the service and what it waits for, in words."""
    lane, steps = run.lanes[service], run.plan.runbook.steps
    if lane.ended or lane.step >= len(steps) or lane.status == "ready":
        return ""
    text = wait_text(run, service, now)
    many = f"{service}  " if len(run.lanes) > 1 else ""
    return f"{many}{f'{text}  ' if text else ''}[{lane.step + 1}/{len(steps)}] {steps[lane.step].title}"


def remembered(told: Mapping[str, tuple[str, ...]], service: str, text: str, kept: int = 8) -> tuple[str, ...]:
    """The newest events of a service, with one more."""
    return (*told.get(service, ())[1 - kept :], text)
