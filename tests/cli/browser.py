"""A real browser for tests: Debian's chromium, driven by Playwright; it loads files and sends no request."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

_CHROMIUM = shutil.which("chromium")
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync"),
)
WAIT_MS = 120_000
"""For a machine that others use; nothing is judged by it."""


@dataclass(slots=True)
class Opened:
    """A page, and what it said and asked for while it was open."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        """``right``, ``wrong`` or ``unchecked``, once the page has checked itself."""
        self.page.wait_for_selector("#check.right, #check.wrong", timeout=WAIT_MS)
        return str(self.page.get_attribute("#check", "class")).split()[-1]


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Headless chromium, ended with the block; the test is skipped where there is none."""
    if _CHROMIUM is None:
        pytest.skip("no chromium: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1280, is_dark: bool = False) -> Iterator[Opened]:
    """The file in a window so wide."""
    with browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme="dark" if is_dark else "light", accept_downloads=True
    ) as context:
        page = context.new_page()
        found = Opened(page)
        page.on("console", lambda message: found.console.append(message.text))
        page.on("pageerror", lambda error: found.console.append(str(error)))
        page.on("request", lambda request: found.requests.append(request.url))
        page.goto(path.as_uri())
        yield found


def pictures_folder(default: Path) -> Path:
    """Where pictures of pages are kept: ``PICTURES`` names a folder for whoever wants to see them."""
    folder = Path(os.environ.get("PICTURES") or default)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
