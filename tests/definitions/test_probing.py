"""What counts as silence of a site: a site that is lost does not answer; whatever else goes wrong came from something."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pytest

from orchestrator import errors
from orchestrator.errors import AdapterError
from orchestrator.family.contract import ReadingSpec
from orchestrator.family.reachability import REACHABILITY, probe
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability

# Nobody may have answered. All other errors of a device say that somebody did, or that we asked nobody.
SILENT = frozenset({"Unreachable", "ConnectionLost", "CommandTimedOut"})


def kinds(base: type[AdapterError] = AdapterError) -> Iterator[type[AdapterError]]:
    """Every error about a device, whatever is added to the tree."""
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


class Failing:
    """A site of which every reading ends in the same error."""

    readings: Mapping[str, ReadingSpec] = {"replication": ReadingSpec("replication", "", lambda services: ())}

    def __init__(self, error: AdapterError) -> None:
        self._error = error

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        raise self._error


def an_error(kind: type[AdapterError]) -> AdapterError:
    return errors.UnreadableReply("no", text="…") if kind is errors.UnreadableReply else kind("no")


@pytest.mark.parametrize("kind", list(dict.fromkeys(kinds())), ids=lambda kind: str(kind.__name__))
def test_only_silence_is_silence(kind: type[AdapterError]) -> None:
    """Law: a refused login, a wrong host key, an answer that cannot be read: that site answers. Three errors are
    silence; whoever adds one to the tree says here which it is."""
    found = probe(Failing(an_error(kind)), REACHABILITY, ["V"])["V"]
    assert isinstance(found, Reachability)
    assert (found.answers, found.role) == (kind.__name__ not in SILENT, None)
