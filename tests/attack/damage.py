"""Values and texts with one thing wrong in them, anywhere."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(["", "\x00", "\ud800", "#", "../..", "U", "true", "-1", "1e999", "9" * 400, "9" * 5_000])
    | st.sampled_from([f"{'9' * 5_000}:00:00", f"{'9' * 400} 00:00:00", "99999999T999999Z", "00010101T000000Z"])
    | st.text(max_size=6)
)
# What hardly any place of a document of ours can have.
IMPOSSIBLE: tuple[object, ...] = ([], 0, math.inf)
VALUES = st.recursive(
    _ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def damaged(draw: st.DrawFn, whole: Any) -> Any:
    """``whole`` with one value, anywhere in it, replaced by any other or taken away."""
    spoilt = deepcopy(whole)
    spots = places(spoilt)
    if not spots:
        return draw(VALUES)
    holder, key = draw(st.sampled_from(spots))
    if draw(st.booleans()) and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = draw(VALUES)
    return spoilt


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document, as what holds it and the key or number there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(value, key), *places(value[key])]]
