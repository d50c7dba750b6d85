"""The records a second that `failover runs verify` checks, in the journal and in an exported file."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench._pairs import bench_pair, lead_in
from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.signing import Signer, Verifier, generate
from orchestrator.operations.runs.run_document import exported
from orchestrator.operations.verify import Doubts, Exported, Stored, Verdict, verdict_of

LANES = 3_000
ROUNDS = 3


def main() -> None:
    """Print the best round of each variant, for one run of many services that was signed at each commit.

    The figures are by clock time and by the processor time of this process. On a busy machine only the processor time
    shows the cost of the code.
    """
    with TemporaryDirectory() as name, _recorded(Path(name)) as (journal, verifier):
        export = Path(name) / "run.jsonl"
        with export.open("w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line, ensure_ascii=False)}\n" for line in exported(journal, "bench"))

        def of_file() -> Verdict:
            with export.open("rb") as lines:
                return verdict_of(Verdict("the export"), Exported(lines), Doubts(verifier, True))

        def of_journal(doubts: Doubts) -> Verdict:
            return verdict_of(Verdict("the run"), Stored(journal, "bench"), doubts)

        print(f"one run of {journal.row('bench').seq:,} records; records checked in a second")
        print(f"{'':>20}  {'by the clock':>14} {'of processor':>14}")
        _show("journal, chain only", lambda: of_journal(Doubts(None, False)))
        _show("journal, signed", lambda: of_journal(Doubts(verifier, True)))
        _show("export, signed", of_file)


def _show(name: str, check: Callable[[], Verdict]) -> None:
    best = [0.0, 0.0]
    for _ in range(ROUNDS):
        before = time.perf_counter(), time.process_time()
        verdict = check()
        after = time.perf_counter(), time.process_time()
        best = [max(rate, verdict.records / (b - a)) for rate, a, b in zip(best, before, after, strict=True)]
        if verdict.problem:
            raise RuntimeError(verdict.problem)
    print(f"{name:>20}: {best[0]:>14,.0f} {best[1]:>14,.0f}")


@contextmanager
def _recorded(folder: Path) -> Iterator[tuple[Journal, Verifier]]:
    generate(folder / "key")
    signer = Signer(folder / "key")
    journal = Journal.at(folder / "journal.sqlite", signer=signer)
    with bench_pair(VirtualClock(), LANES) as bench:
        lead_in(journal, bench, threads=False)
    try:
        yield journal, Verifier([signer.public()])
    finally:
        journal.close()


if __name__ == "__main__":
    main()
