"""The story of a run as Markdown, for a wiki, a ticket or a review. The same facts as the page, without its bars.

No text of a record may become markup: what Markdown or HTML would take for their own is escaped.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from orchestrator.reports.page.html import Scrub, environment_of, facts_of
from orchestrator.reports.page.story import RunStory

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")
_LINE_MARK = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s|$)")


def markdown_of(story: RunStory, scrub: Scrub = str) -> bytes:
    """The document, UTF-8; tables and headings as GitHub's Markdown has them."""
    environment = environment_of(scrub, autoescape=False)
    clean = environment.finalize
    assert callable(clean)

    def finalize(value: object) -> object:
        return escaped(str(clean(value))) if isinstance(value, str) and not isinstance(value, Markup) else value

    environment.finalize = finalize
    environment.filters["code"] = lambda text: Markup(_code(str(clean(text))))
    environment.filters["codes"] = lambda text: Markup(_codes(str(clean(text))))
    environment.filters["seconds"] = _plain(environment.filters["seconds"])
    return environment.get_template("run.md").render(facts_of(story)).encode()


def escaped(text: str) -> str:
    """``text`` that Markdown shows as it is."""
    return _LINE_MARK.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", text))


def _codes(text: str) -> str:
    """``text`` with what is in backticks as code, and everything else as it is."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(_code(part) if number % 2 and part else escaped(part) for number, part in enumerate(parts))


def _code(text: str) -> str:
    """``text`` as code, also in a cell of a table, and also where it has backticks."""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


def _plain(words: object) -> object:
    """Figures of ours need no escape."""
    assert callable(words)
    return lambda value: Markup(words(value))
