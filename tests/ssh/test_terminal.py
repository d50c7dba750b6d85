"""What a terminal would show: overwriting, pagers, prompts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.dialect import SOLACE
from adapters.ssh.terminal import Prompt

PAGER = "---Press any key to continue, or `q' to quit---"


@pytest.mark.parametrize(
    ("line", "prompt"),
    [
        ("solace1> ", Prompt("solace1", "", False)),
        ("NY_Appliance1#", Prompt("NY_Appliance1", "", True)),
        ("NY_Appliance1(configure/message-vpn)# ", Prompt("NY_Appliance1", "configure/message-vpn", True)),
        ("solace(...ssage-vpn/replication)#", Prompt("solace", "...ssage-vpn/replication", True)),
    ],
)
def test_the_prompts_of_the_documents_are_prompts(line: str, prompt: Prompt) -> None:
    """Name, mode and sign are read from every form of prompt that was seen."""
    assert SOLACE.prompt_in(line) == prompt


@pytest.mark.parametrize(
    "line", ["Solace # show transaction", "> ", "#", "solace1>  ", "a b>", "name(configure)", "x (configure)#", ""]
)
def test_what_only_resembles_a_prompt_is_none(line: str) -> None:
    """The slips of the procedure's prose are not prompts, and neither is half of one."""
    assert SOLACE.prompt_in(line) is None


def test_only_the_named_device_prompts() -> None:
    """Once the name is known, another name's prompt is text."""
    assert SOLACE.prompt_in("solace1>", "solace1") is not None
    assert SOLACE.prompt_in("solace10>", "solace1") is None


@pytest.mark.parametrize(
    ("shown", "mode", "is_in"),
    [
        ("configure/message-vpn", "configure/message-vpn", True),
        ("configure", "configure/message-vpn", False),
        ("...ssage-vpn/replication", "configure/message-vpn/replication", True),
        ("...ssage-vpn/replication", "configure/message-vpn", False),
        ("...", "configure", False),
        ("", "", True),
        ("configure", "", False),
    ],
)
def test_a_mode_is_recognised_whole_or_shortened_on_the_left(shown: str, mode: str, is_in: bool) -> None:
    """Long paths lose their left end, and nothing else."""
    assert Prompt("solace1", shown, True).is_in(mode) is is_in


@pytest.mark.parametrize(
    "wiped", ["\r\n", "\n", "\r" + " " * len(PAGER) + "\r", "\b" * len(PAGER) + "\x1b[K", "\r\x1b[K"]
)
def test_the_pager_leaves_no_trace_in_a_table(wiped: str) -> None:
    """However the device wipes its pager away, the table's columns stay where they were."""
    text = f"Name    A\r\n------- -\r\n{PAGER}{wiped}    b   U\r\nsolace1> "
    assert SOLACE.lines(text) == ["Name    A", "------- -", "    b   U", "solace1>"]


def test_an_unfinished_line_ends_at_the_cursor() -> None:
    """A prompt written over a wiped pager is the prompt, not the prompt and its blanks."""
    text = f"row\r\n{PAGER}\r{' ' * len(PAGER)}\rsolace1> "
    assert SOLACE.last_line(text) == "solace1> "


def test_escape_sequences_are_not_text() -> None:
    """Colours and cursor modes do not get into a value."""
    assert SOLACE.lines("\x1b[1mUp\x1b[0m\r\n\x1b[?7hDown") == ["Up", "Down"]


def test_backspaces_take_back_what_was_typed() -> None:
    """Later letters overwrite earlier ones."""
    assert SOLACE.lines("shaw\b\bow") == ["show"]


def test_erasing_the_whole_line_leaves_blanks_before_the_cursor() -> None:
    """As on a terminal: the cursor stays where it was."""
    assert SOLACE.lines("abc\x1b[2Kd") == ["   d"]


def screen(typed: list[str]) -> str:
    """The same line on a screen of cells, each sign by itself: slow, and nothing in it is remembered."""
    cells, at = dict.fromkeys(range(0), ""), 0
    for sign in typed:
        match sign:
            case "\r":
                at = 0
            case "\b":
                at = max(0, at - 1)
            case "\x1b[K":
                cells = {place: letter for place, letter in cells.items() if place < at}
            case "\x1b[2K":
                cells = {}
            case _:
                cells[at] = sign
                at += 1
    return "".join(cells.get(place, " ") for place in range(max(cells, default=-1) + 1))


@given(st.lists(st.sampled_from(["a", "b", " ", "\r", "\b", "\b", "\x1b[K", "\x1b[2K"]), max_size=30))
def test_any_line_is_what_a_screen_would_show(typed: list[str]) -> None:
    """Law: in whatever order letters, returns, backspaces and erasing come."""
    assert SOLACE.lines("".join(typed) + "\n")[0] == screen(typed).rstrip()
