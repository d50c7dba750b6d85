"""What the tests of definition files share: a writer of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.definitions.declared import Write


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Puts a text or bytes into a new file and returns its path."""

    def put(content: str | bytes) -> Path:
        path = tmp_path / f"file{len(list(tmp_path.iterdir()))}.yaml"
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return path

    return put
