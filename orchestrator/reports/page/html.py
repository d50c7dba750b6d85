"""The story of a run as one HTML file. It needs no other file, because it contains its style, script and records.

The file sends no request. Its content security policy allows only its own style and script, by their hashes. The file
contains the records of the journal, and its script checks their chain as ``hash_chain`` does. This module must never put
an unescaped text into the page.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib import resources
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from orchestrator.characters import spelled_out
from orchestrator.counting import counted
from orchestrator.model.families import amount
from orchestrator.model.plan import Outcome
from orchestrator.reports.page import figures
from orchestrator.reports.page.seal import digest, walked
from orchestrator.reports.page.story import RunStory

# Up to this many services are shown open. If there are more, each service is a row.
OPEN_MAX = 3

Scrub = Callable[[str], str]


def page_of(story: RunStory, lines: Sequence[Mapping[str, Any]], scrub: Scrub = str) -> bytes:
    """The page, UTF-8. ``lines`` are the exported records. ``scrub`` replaces secrets in the shown texts."""
    style, script = source("style.css"), source("check.js")
    records = "\n".join(_line(line) for line in lines)
    shown: dict[str, Any] = {
        "style": Markup(style),
        "script": Markup(script),
        "style_hash": _policy_hash(style),
        "script_hash": _policy_hash(script),
        "records": Markup(records),
    }
    environment = environment_of(scrub, autoescape=True)
    shown["body"] = Markup(environment.get_template("report.html").render(facts_of(story)))
    page = partial(environment.get_template("page.html").render, facts_of(story), **shown)
    seal = {"run": story.report.run, "records": digest(records), "report": digest(walked(page(seal="{}")))}
    return page(seal=Markup(json.dumps(seal, separators=(",", ":")).replace("<", "\\u003c"))).encode()


def facts_of(story: RunStory) -> dict[str, Any]:
    """The variables of the templates of all formats."""
    report = story.report
    longest = [one for one in story.services if one.lane.outage_seconds is not None]
    # Only done services count, because the backlog of another service was returned or is at risk.
    done = [one.lane for one in story.services if one.lane.outcome is Outcome.DONE]
    drained = [lane.drained_messages for lane in done if lane.drained_messages is not None]
    total = report.seconds
    return {
        "story": story,
        "report": report,
        "state": str(report.outcome or report.status),
        "counts": _counts(story),
        "longest": max(longest, key=lambda one: one.lane.outage_seconds or 0.0, default=None),
        "drained": sum(drained) if drained else None,
        "sent": sum(one.lane.actions_sent for one in story.services),
        "decided": sum(len(one.lane.decisions) for one in story.services),
        "ticks": figures.ticks(total),
        "bars": partial(figures.bars_of, total=total),
        "curve": partial(figures.curve, total=total, height=40.0),
        "clock": partial(_clock, day=report.started_at[:10]),
        "amount": partial(amount, family=report.runbook.partition("/")[0]),
        "open_max": OPEN_MAX,
    }


def environment_of(scrub: Scrub, *, autoescape: bool) -> Environment:
    """Jinja2 for the templates beside this file. An unknown name is an error. Control characters and invisible characters
    in texts are spelled out."""

    def finalize(value: object) -> object:
        if isinstance(value, Markup):
            return value
        return spelled_out(scrub(value)) if isinstance(value, str) else value

    made = Environment(
        loader=FunctionLoader(source),
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
    )
    made.filters |= {
        "seconds": figures.seconds,
        "counted": lambda number, noun: counted(number, noun),
        "codes": lambda text: _codes(spelled_out(scrub(text))),
    }
    return made


def source(name: str) -> str:
    """A file of the folder ``templates``."""
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def _codes(text: str) -> Markup:
    """``text`` with the parts in backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    shown = (
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )
    return Markup("").join(shown)


def _line(line: Mapping[str, Any]) -> str:
    """A record as ASCII JSON without ``<``. It cannot end an element of the page, and mail servers do not change it."""
    return json.dumps(line).replace("<", "\\u003c")


def _policy_hash(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _counts(story: RunStory) -> list[tuple[str, int]]:
    """The number of services for each outcome. Outcomes that need a person come first."""
    found: dict[str, int] = {}
    for one in story.services:
        state = str(one.lane.outcome or "not finished")
        found[state] = found.get(state, 0) + 1
    return list(found.items())


def _clock(at: str, day: str) -> str:
    """A time such as ``03:05:01.123``. The date is added if it is not the date of the run's start."""
    return at[11:23] if at[:10] == day else f"{at[:10]} {at[11:19]}"
