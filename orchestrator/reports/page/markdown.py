"""The story of a run as Markdown, for a wiki, a ticket or a review. It has the same facts as the page, without its bars.

No text of a record may become markup, so all characters that Markdown or HTML would interpret are escaped.
"""

from __future__ import annotations

import re

from markupsafe import Markup

from orchestrator.reports.page.html import Scrub, environment_of, facts_of
from orchestrator.reports.page.story import RunStory

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$!&])")
_LINE_MARK = re.compile(r"^(\s*)([-+]|\d+[.)])(?=\s|$)")


def markdown_of(story: RunStory, scrub: Scrub = str) -> bytes:
    """The document, UTF-8. Tables and headings follow GitHub's Markdown."""
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
    """``text``, escaped so that Markdown shows it unchanged."""
    return _LINE_MARK.sub(r"\1\\\2", _MARKUP.sub(r"\\\1", text))


def _codes(text: str) -> str:
    """``text`` with the parts in backticks as code. All other parts are escaped."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escaped(text)
    return "".join(_code(part) if number % 2 and part else escaped(part) for number, part in enumerate(parts))


def _code(text: str) -> str:
    """``text`` as code. It also works in a cell of a table, and with backticks in the text."""
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}"


def _plain(words: object) -> object:
    """A formatter whose result needs no escape, because this program writes the figures itself."""
    assert callable(words)
    return lambda value: Markup(words(value))
