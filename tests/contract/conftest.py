"""The laws are assertions of a plain module; pytest is to explain them all the same."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("tests.contract.laws")
