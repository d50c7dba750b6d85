"""The CLI of a simulated Solace appliance, for any ``Appliance``: prompts, modes, pager and questions.

It turns text into text, without its own transport or clock, so tests of the dialogue run in process. It is a
``Shell`` for ``simulator.ssh.shell``. Sources: docs/sources/solace.md, 3.1 and 3.8, docs/sources/solace-procedure.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, runtime_checkable

from simulator.lab.cli.commands import plan_change
from simulator.lab.cli.plans import Invalid, Level, Place, Plan, TooLow, words_of
from simulator.lab.cli.shows import Shows
from simulator.lab.command_log import CommandLog, Kind
from simulator.lab.edition import SEED, Edition
from simulator.solace.appliance import Appliance, Refused, SpoolNotActive
from simulator.ssh.shell import AnswerMishap, Spoilt

PAGER = "---Press any key to continue, or `q' to quit---"
QUESTION = "Do you want to continue (y/n)? "
ROWS_DEFAULT = 24  # of a session without a terminal
PATH_WIDTH = 40  # characters of a mode's path in the prompt; fits all known prompts (docs/sources/solace.md, 3.1)


def prompt_of(router_name: str, place: Place) -> str:
    """The prompt: ``NAME>``, ``NAME#`` or ``NAME(configure/message-vpn)#``. Long paths are cut at their left end."""
    path = "/".join(place.path)
    if len(path) > PATH_WIDTH:
        path = "..." + path[-(PATH_WIDTH - 3) :]
    mode = f"({path})" if path else ""
    return f"{router_name}{mode}{'#' if place.is_enabled else '>'} "


@runtime_checkable
class Spoiling(Protocol):
    """An appliance whose answers may go wrong on their way to the client."""

    def take_spoilt(self) -> AnswerMishap | None:
        """The fault of the answer to the last access. Each fault is returned once."""
        ...


class CliSession:
    """One login. Only ``resize`` may be called from another thread.

    ``hold``: a context manager that is entered around every access to the appliance. It brings a world up to now and
    stops its time. If it raises ``AdapterError``, the node is gone. ``log`` records every line that reaches the node.
    """

    def __init__(
        self,
        appliance: Appliance,
        log: CommandLog,
        *,
        user: str = "admin",
        origin: str = "",
        level: Level = "admin",
        edition: Edition = SEED,
        hold: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self._appliance = appliance
        self._shows = Shows(appliance, edition)
        self._log = log
        self._user = user
        self._origin = origin
        self._level = level
        self._edition = edition
        self._hold = hold
        self._number = log.new_session()
        self._place = Place()
        self._is_paging = True
        self._rows = ROWS_DEFAULT
        self._pages: list[str] = []  # lines that the pager has not shown yet
        self._asked: Plan | None = None
        self._has_ended = False

    @property
    def wants(self) -> Literal["line", "key", "nothing"]:
        """The input that the session waits for."""
        if self._has_ended:
            return "nothing"
        if self._pages or (self._asked is not None and self._edition.question_takes == "key"):
            return "key"
        return "line"

    @property
    def prompt(self) -> str:
        """The prompt of the session's present mode, as the device shows it."""
        return prompt_of(self._appliance.router_name, self._place)

    def greet(self) -> str:
        """The banner and the first prompt."""
        return self._edition.banner + self.prompt

    def resize(self, columns: int, rows: int) -> None:
        """Set the page height of the pager to the terminal's height. 0 means unknown. Lines are never wrapped."""
        self._rows = rows if rows > 1 else ROWS_DEFAULT

    def interrupt(self) -> str:
        """Discard the pages and the question."""
        self._pages = []
        self._asked = None
        return self.prompt

    def take_key(self, key: str) -> str:
        """Handle a key for the pager, or for a question if the edition takes a key there."""
        if self._pages:
            return "\n" + (self.interrupt() if key in "qQ" else self._next_page())
        return key.rstrip("\n") + "\n" + self._answer_question(key)

    def take_line(self, line: str) -> str:
        """The answer to a line, and the next prompt."""
        if self._asked is not None:
            return self._answer_question(line.strip())
        with self._hold():
            return self._on_its_way(self._obey(line))

    def _obey(self, line: str) -> str:
        try:
            plan = self._plan(line)
        except (Invalid, TooLow) as error:
            self._record("invalid", line)
            return self._print([self._edition.forbidden if isinstance(error, TooLow) else self._edition.invalid])
        self._record(plan.kind, line)
        if plan.warning:
            self._asked = plan
            return f"{plan.warning}\n{QUESTION}"
        return self._run(plan)

    def _run(self, plan: Plan) -> str:
        try:
            lines = plan.run()
        except Refused as refusal:
            return self._print(_in_words(plan, refusal).split("\n"))
        if plan.place is not None:
            self._place = plan.place
        if plan.paging is not None:
            self._is_paging = plan.paging
        if plan.ends:
            self._has_ended = True
            return ""
        return self._print(lines)

    def _answer_question(self, answer: str) -> str:
        with self._hold():
            self._record("answer", answer)
            plan, self._asked = self._asked, None
            # Assumption: every other answer than yes means no, and no prints nothing.
            if plan is None or answer.lower() not in ("y", "yes"):
                return self.prompt
            return self._on_its_way(self._run(plan))

    def _on_its_way(self, answer: str) -> str:
        kind = self._appliance.take_spoilt() if isinstance(self._appliance, Spoiling) else None
        if kind is not None:
            raise Spoilt(kind, answer)
        return answer

    def _plan(self, line: str) -> Plan:
        words = words_of(line)
        match words:
            case []:
                return Plan("empty")
            case ["show", *rest]:
                return self._shows.plan(rest)
            case ["exit"]:
                return self._exit()
            case ["home"] | ["end"]:
                return Plan("mode", place=Place(self._place.is_enabled))
            case ["no", "paging"] | ["paging"]:
                return Plan("mode", paging=words[0] == "paging")
            case ["enable"] if not self._place.path:
                return Plan("mode", place=Place(is_enabled=True))
            case ["configure" | "admin" as mode] if self._place == Place(is_enabled=True):
                self._demand_level()
                return Plan("mode", place=Place(True, (mode,)))
            case _ if self._place.path:
                return plan_change(self._appliance, self._edition, self._place, words)
            case _:
                raise Invalid

    def _exit(self) -> Plan:
        path = self._place.path
        if not path and not self._place.is_enabled:
            return Plan("mode", ends=True)
        if not path:
            return Plan("mode", place=Place())
        above = path[:-1]
        return Plan("mode", place=Place(True, above, self._place.vpn if "message-vpn" in above else ""))

    def _demand_level(self) -> None:
        if self._level != "admin":
            raise TooLow

    def _record(self, kind: Kind, line: str) -> None:
        self._log.record(
            user=self._user,
            origin=self._origin,
            session=self._number,
            mode=self._place.mode,
            kind=kind,
            line=line,
        )

    def _print(self, lines: Sequence[str]) -> str:
        self._pages = list(lines)
        return self._next_page()

    def _next_page(self) -> str:
        page = self._rows - 1 if self._is_paging else len(self._pages)
        shown, self._pages = self._pages[:page], self._pages[page:]
        text = "".join(f"{line}\n" for line in shown)
        return text + (PAGER if self._pages else self.prompt)


def _in_words(plan: Plan, refusal: Refused) -> str:
    """The text that the CLI prints for a refused change. docs/sources/solace.md, 3.1 has the word, but not the layout."""
    said = str(refusal)
    if isinstance(refusal, SpoolNotActive):
        # The only refusal of a `show` that was captured: docs/sources/solace-cli.md, 19.
        return f"ERROR: {said}\nCommand Failed"
    is_bare = plan.kind == "change" and not said.lower().startswith("error")
    return f"Error: {said}" if is_bare else said
