"""Laws of the whole validation, tried on generated fabrics."""

from __future__ import annotations

from functools import partial
from operator import ne
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.config.model import MANDATORY, Check, Instance
from adapters.amps.config.settings import ValidateOptions
from validator.report import Level
from validator.validate import validate

NAMES = "ABCD"
TOPICS = ("t", "u", "^v", ".*")
QUEUE = "<Queue><Name>{}</Name><MessageType>json</MessageType></Queue>"
EXCLUDABLE = sorted(set(Check) - MANDATORY)


@st.composite
def entries(draw: st.DrawFn) -> list[tuple[str, str, str]]:
    """(name, exclusions, filter) of the topics of one destination."""
    names = draw(st.lists(st.sampled_from(TOPICS), min_size=1, max_size=2, unique=True))
    exclude = st.sets(st.sampled_from(EXCLUDABLE), max_size=3).map(lambda checks: ",".join(sorted(checks)))
    return [(name, draw(exclude), draw(st.sampled_from(["", "/x = 1"]))) for name in names]


Shape = dict[str, Any]


@st.composite
def shapes(draw: st.DrawFn) -> list[Shape]:
    """Two to four instances with logs, SOW topics, queues and destinations at random."""
    size = draw(st.integers(2, 4))
    found = []
    for me in range(size):
        mates = draw(st.sets(st.integers(0, size - 1).filter(partial(ne, me))))
        found.append(
            {
                "group": draw(st.sampled_from(["G", "H", None])),
                "log": tuple(draw(st.lists(st.sampled_from(TOPICS), unique=True, max_size=2))),
                "sow": dict.fromkeys(draw(st.sets(st.sampled_from(["t", "u"]))), ("/id",)),
                "queue": draw(st.sampled_from(["", "q"])),
                "to": {mate: draw(entries()) for mate in sorted(mates)},
                "passthrough": draw(st.sampled_from([None, ".*", "^G$"])),
            }
        )
    return found


def build(shapes: list[Shape], amps: SimpleNamespace) -> list[Instance]:
    return [
        amps.Conf(
            NAMES[index],
            group=shape["group"],
            log=shape["log"],
            sow=shape["sow"],
            extra_sow=QUEUE.format(shape["queue"]) if shape["queue"] else "",
            to=tuple(
                amps.Dest(
                    NAMES[mate],
                    tuple(amps.Entry(name, exclude=exclude, filter=sieve) for name, exclude, sieve in topics),
                    passthrough=shape["passthrough"],
                )
                for mate, topics in shape["to"].items()
            ),
        ).instance()
        for index, shape in enumerate(shapes)
    ]


@given(found=shapes(), random=st.randoms())
def test_the_order_of_files_does_not_matter(found: list[Shape], random: Any, amps: SimpleNamespace) -> None:
    """The report is the same, to the byte, whatever the order."""
    instances = build(found, amps)
    shuffled = list(instances)
    random.shuffle(shuffled)
    options = ValidateOptions(suggest_exclusions=True)
    assert validate(instances, options).to_json() == validate(shuffled, options).to_json()


@given(found=shapes(), check=st.sampled_from(EXCLUDABLE), data=st.data())
def test_an_exclusion_never_adds_an_error_but_cascade(
    found: list[Shape], check: Check, data: Any, amps: SimpleNamespace
) -> None:
    """Relaxing one entry can only make those upstream fail cascade."""
    places = [
        (me, mate, index)
        for me, shape in enumerate(found)
        for mate in shape["to"]
        for index in range(len(shape["to"][mate]))
    ]
    if not places:
        return
    me, mate, index = data.draw(st.sampled_from(places))
    before = errors(build(found, amps))
    name, exclude, sieve = found[me]["to"][mate][index]
    more = ",".join(filter(None, [exclude, check]))
    changed = [{**shape, "to": {key: list(value) for key, value in shape["to"].items()}} for shape in found]
    changed[me]["to"][mate][index] = (name, more, sieve)
    assert {each for each in errors(build(changed, amps)) - before if each[0] != "cascade"} == set()


@given(found=shapes())
def test_every_error_has_both_places_and_a_sentence(found: list[Shape], amps: SimpleNamespace) -> None:
    """Whatever the fabric, a finding of the nine says which link, where on both sides, and what follows."""
    for finding in validate(build(found, amps)).findings:
        assert finding.message and finding.source_at
        if finding.check in set(Check):
            assert finding.source and finding.destination and finding.topic and finding.message_type
            assert finding.destination_at and finding.consequence


@given(
    size=st.integers(2, 4),
    topics=st.lists(st.sampled_from(["t", "u", "v/w", "^x", ".*"]), min_size=1, unique=True),
    group=st.sampled_from(["G", None]),
    has_queue=st.booleans(),
)
def test_symmetric_full_meshes_are_clean(
    size: int, topics: list[str], group: str | None, has_queue: bool, amps: SimpleNamespace
) -> None:
    """Instances that all do the same find nothing in each other."""
    names = NAMES[:size]
    plain = [topic for topic in topics if topic.isalnum()]
    confs = [
        amps.Conf(
            name,
            group=group,
            log=tuple(topics),
            sow={topic: ("/id",) for topic in plain if topic != "u" or not has_queue},
            extra_sow=QUEUE.format("u") if has_queue and "u" in topics else "",
            to=tuple(
                amps.Dest(mate, tuple(amps.Entry(t) for t in topics), group=group and "G")
                for mate in names
                if mate != name
            ),
        )
        for name in names
    ]
    assert validate([conf.instance() for conf in confs]).findings == ()


def errors(instances: list[Instance]) -> set[tuple[Any, ...]]:
    report = validate(instances, ValidateOptions(extra_rules=False))
    return {
        (f.check, f.source, f.destination, f.topic, f.message_type) for f in report.findings if f.level is Level.ERROR
    }
