"""The laws of changes at a real server: `failover family test --change` closes a Redis master and opens it again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.operations.conformance_changes import BACK, CLOSED, FENCED, SHOWN, TWICE
from tests.real.redis import PASSWORD, Load, a_pair

pytestmark = [pytest.mark.realtime, pytest.mark.long]


def test_redis_keeps_them(tmp_path: Path) -> None:
    """Law: the gate closes, is read, closes again, opens, and is read as open, under load; clients write afterwards. A
    fence that ends the server is not tried: nothing could open it."""
    with a_pair(tmp_path) as pair, Load(pair) as load:
        load.goes_on(50)
        words = ("family", "test", "redis", "--inventory", str(tmp_path / "inventory.yaml"), "--json")
        code, text = pair.run(*words, "--change", "ny")
        assert (code, PASSWORD in text) == (0, False), text
        said = {one["law"]: one for one in json.loads(text.splitlines()[-1])["laws"]}
        assert {said[law]["outcome"] for law in (SHOWN, TWICE, BACK, CLOSED)} == {"holds"}
        assert "end-it has no undo" in str(said[FENCED]["details"])
        load.goes_on()
        assert pair.in_order()[0].name == "ny"
