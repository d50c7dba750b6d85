"""The runbooks that come with the program, those of families in files too: the files that there are, whichever families
are known when tests are collected."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "runbooks"
RUNBOOKS = sorted(f"{path.parent.name}/{path.stem}" for path in _FOLDER.glob("*/*.yaml"))
