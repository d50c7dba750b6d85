"""Checkers of habits: what no file may do, and the few places that may, each with its reason."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping

from tests.architecture.source import Source, enclosing

LINES_MAX = 400

# Files that may be longer, with the reason.
LONGER: Mapping[str, str] = {}

# Handlers that may catch everything and go on: (file, function) and the reason.
DOORS: Mapping[tuple[str, str], str] = {
    (
        "orchestrator/engine/observers.py",
        "Observers.show",
    ): "an observer's failure is recorded, and never stops a run",
    ("orchestrator/cli/main.py", "main"): "a bug must still end in a sentence and an exit code",
    (
        "orchestrator/family/registry.py",
        "_load",
    ): "importing a third party's adapter runs its code, which may raise anything",
    ("orchestrator/operations/conformance.py", "_verdict"): "what a family of a third party raises breaks a law",
    (
        "orchestrator/model/installed.py",
        "_load",
    ): "a family of a third party may raise anything, and stops no other one",
    ("orchestrator/model/installed.py", "installed"): "what a family file declares may be wrong in any way",
    ("adapters/declared/sql.py", "_cut"): "a driver may raise anything for a session that ends at this very moment",
    ("adapters/declared/messages.py", "_Line.end"): "a connection is given up, in whatever state its loop has it",
    ("adapters/declared/sql.py", "Database.close"): "a session is given up, in whatever state its driver has it",
    (
        "orchestrator/notifications/worker.py",
        "_HookThread.run",
    ): "a mistake in telling is recorded, and never stops a run",
    ("proof/simulation/night.py", "SimulatedRun.play"): "an error of the product's own is a finding, and is told",
    (
        "orchestrator/engine/dispatch_threaded.py",
        "SiteThread._run",
    ): "carried to the engine's thread, which raises it",
    (
        "proof/exploration/lanes.py",
        "Lanes.turn",
    ): "any error of the core is what the walk looks for: it becomes a finding",
    ("orchestrator/engine/dispatch_threaded.py", "_Asker._run"): "carried to the engine's thread, which raises it",
}

# Helpers of realtime tests that may sleep: (file, function) and the reason.
WAITERS: Mapping[tuple[str, str], str] = {
    ("tests/real/places.py", "wait_for"): "asks a real server until it says so",
    ("tests/real/killing.py", "killed_and_resumed"): "a kill at any moment of a step",
    (
        "tests/real/relay.py",
        "Relay._carry.deliver",
    ): "a link that takes time; the test's servers run on the machine's clock",
    ("tests/journal/servers.py", "until"): "waits for servers, which no injected clock moves",
    ("tests/ssh/sshd.py", "until"): "waits for a process of the machine, which no injected clock moves",
    (
        "tests/network/site.py",
        "_carry.deliver",
    ): "a cable of a real network that takes its time, in a process of its own",
}

# What the core may use of Python's library: shapes and arithmetic. All else is time, chance or the world.
PURE_LIBRARY = frozenset(
    {"__future__", "bisect", "collections", "dataclasses", "enum", "functools", "itertools", "math", "operator", "re"}
    | {"types", "typing"}
)
PURE_THIRD = frozenset({"pydantic", "transitions"})
# `hash` of a text and `id` differ from process to process: a fold would too.
IMPURE_CALLS = frozenset({"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "hash", "id"})

# How Python is asked what time it is, or to wait.
LOCKS = frozenset({"Barrier", "BoundedSemaphore", "Condition", "Event", "Lock", "RLock", "Semaphore"})
CLOCK_CALLS = frozenset(
    {"time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
    | {"clock_gettime", "clock_gettime_ns", "thread_time", "sleep"}
)
# With fewer arguments than this they mean "now".
NOW_BY_DEFAULT: Mapping[str, int] = {"localtime": 1, "gmtime": 1, "ctime": 1, "strftime": 2, "asctime": 1}

UNSAFE_NAMES: Mapping[str, str] = {
    "AutoAddPolicy": "trusts a host key nobody checked",
    "WarningPolicy": "trusts a host key nobody checked",
    "CERT_NONE": "trusts a certificate nobody checked",
    "_create_unverified_context": "trusts a certificate nobody checked",
}
UNSAFE_KEYWORDS: Mapping[str, object] = {"verify": False, "check_hostname": False, "shell": True}


def broad_handlers(sources: Iterable[Source], doors: Mapping[tuple[str, str], str] = DOORS) -> list[str]:
    """Handlers of everything that do not raise it again, outside of the doors; and doors that are none any more."""
    unused = set(doors)
    found = []
    for source in sources:
        for node in source.nodes:
            if not _swallows_all(node):
                continue
            door = (source.path, enclosing(source, _line(node)))
            unused.discard(door)
            if door not in doors:
                found.append(f"{source.path}:{_line(node)}: {door[1]} catches everything and goes on")
    return found + [f"{path}: {function} is listed as a door, and is none" for path, function in sorted(unused)]


def _swallows_all(node: ast.AST) -> bool:
    if isinstance(node, ast.ExceptHandler):
        last = node.body[-1]
        raises_it = isinstance(last, ast.Raise) and last.exc is None
        return _is_broad(node.type) and not raises_it
    return isinstance(node, ast.Call) and _name(node.func) == "suppress" and any(map(_is_broad, node.args))


def _is_broad(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(map(_is_broad, caught.elts))
    return caught is None or _name(caught) in ("Exception", "BaseException")


def impurities(sources: Iterable[Source], own: Iterable[str]) -> list[str]:
    """What the core may not have. ``own``: the names of orchestrator/ that are pure themselves."""
    allowed = {f"orchestrator.{name}" for name in own}
    found = []
    for source in sources:
        for one in source.imports:
            if one.top == "orchestrator":
                full = f"{one.module}.{one.name}" if one.module == "orchestrator" else one.module
                if not any(f"{full}.".startswith(f"{one}.") for one in allowed):
                    found.append(f"{source.path}:{one.line}: {full} is not pure")
            elif one.top not in PURE_LIBRARY | PURE_THIRD:
                found.append(f"{source.path}:{one.line}: {one.module} is time, chance or the world")
        for node in source.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
                found.append(f"{source.path}:{node.lineno}: calls {node.func.id}()")
            if isinstance(node, ast.Global):
                found.append(f"{source.path}:{node.lineno}: changes a global")
    return found


def clock_readers(sources: Iterable[Source]) -> list[str]:
    """Places that ask the machine what time it is, or wait, without the injected clock."""
    return [
        f"{source.path}:{line}: {what} in {enclosing(source, line)}"
        for source in sources
        for line, what in _clock_uses(source)
    ]


def impatient_tests(sources: Iterable[Source], waiters: Mapping[tuple[str, str], str] = WAITERS) -> list[str]:
    """Sleeps in tests that are not marked realtime; and listed waiters that sleep no more."""
    unused = set(waiters)
    found = []
    for source in sources:
        marked = {name for name, node in source.functions if any(map(_is_realtime, node.decorator_list))}
        whole_file = any(
            isinstance(node, ast.Assign) and _name(node.targets[0]) == "pytestmark" and _is_realtime(node.value)
            for node in source.tree.body
        )
        for line, what in _clock_uses(source):
            place = (source.path, enclosing(source, line))
            if what != "time.sleep" or whole_file or place[1] in marked:
                continue
            unused.discard(place)
            if place not in waiters:
                found.append(f"{source.path}:{line}: {what} in {place[1]}")
    return found + [
        f"{path}: {function} is listed as a waiter, and sleeps no more" for path, function in sorted(unused)
    ]


def _clock_uses(source: Source) -> Iterator[tuple[int, str]]:
    for node in source.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "time":
            yield from ((node.lineno, f"time.{alias.name}") for alias in node.names if alias.name in CLOCK_CALLS)
        elif isinstance(node, ast.Attribute):
            base = _name(node.value)
            if base == "time" and node.attr in CLOCK_CALLS:
                yield node.lineno, f"time.{node.attr}"
            elif base in ("datetime", "date") and node.attr in ("now", "utcnow", "today"):
                yield node.lineno, f"{base}.{node.attr}"
        elif isinstance(node, ast.Call) and _means_now(node):
            yield node.lineno, f"time.{_name(node.func)} of now"


def _means_now(call: ast.Call) -> bool:
    is_of_time = isinstance(call.func, ast.Attribute) and _name(call.func.value) == "time"
    return is_of_time and len(call.args) < NOW_BY_DEFAULT.get(_name(call.func), 0)


def _is_realtime(node: ast.expr) -> bool:
    inner = [node, *node.elts] if isinstance(node, ast.List | ast.Tuple) else [node]
    return any(isinstance(one, ast.Attribute) and one.attr == "realtime" for one in inner)


def locking_handlers(sources: Iterable[Source]) -> list[str]:
    """Locks and events in modules that set signal handlers: a handler runs in the middle of whatever holds them."""
    return [
        f"{source.path}:{_line(node)}: threading.{node.attr} in a module that sets signal handlers"
        for source in sources
        if any(isinstance(node, ast.Call) and ast.unparse(node.func) == "signal.signal" for node in source.nodes)
        for node in source.nodes
        if isinstance(node, ast.Attribute) and _name(node.value) == "threading" and node.attr in LOCKS
    ]


def unsafe(sources: Iterable[Source]) -> list[str]:
    """Places that trust a stranger, or hand a text to a shell."""
    return [
        f"{source.path}:{_line(node)}: {what}"
        for source in sources
        for node in source.nodes
        if (what := _danger(node))
    ]


def _danger(node: ast.AST) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) if name in UNSAFE_NAMES:
            return f"{name} {UNSAFE_NAMES[name]}"
        case ast.keyword(arg=str(name), value=ast.Constant(value=bool(value))) if UNSAFE_KEYWORDS.get(name) is value:
            return f"{name}={value}"
        case ast.Assign(targets=[ast.Attribute(attr="check_hostname")], value=ast.Constant(value=False)):
            return "check_hostname=False"
        case _:
            return None


def picturing(sources: Iterable[Source]) -> list[str]:
    """Places that print a device's words, and would make a picture of ``ocf:heart:x``."""
    return [
        f"{source.path}:{node.lineno}: Console without emoji=False"
        for source in sources
        if any(isinstance(node, ast.ImportFrom) and node.module == "rich.console" for node in source.nodes)
        for node in source.nodes
        if isinstance(node, ast.Call) and _name(node.func) == "Console"
        if not any(one.arg == "emoji" and ast.unparse(one.value) == "False" for one in node.keywords)
    ]


def patches(sources: Iterable[Source]) -> list[str]:
    """Tests that reach into the product and replace a part of it, instead of using a seam."""
    found = []
    for source in sources:
        for one in source.imports:
            full = f"{one.module}.{one.name}"
            if one.top in ("mock", "pytest_mock") or "unittest.mock" in (one.module, full):
                found.append(f"{source.path}:{one.line}: imports {full.removesuffix('.None')}")
        for node in source.nodes:
            is_fixture = isinstance(node, ast.Attribute) and _name(node.value) == "monkeypatch"
            if is_fixture and _name(node) in ("setattr", "delattr", "setitem", "delitem"):
                found.append(f"{source.path}:{_line(node)}: monkeypatch.{_name(node)}")
    return found


def too_long(sources: Iterable[Source], longer: Mapping[str, str] = LONGER) -> list[str]:
    """Files of more lines than one subject needs; and exclusions that are not needed any more."""
    long = {source.path: lines for source in sources if (lines := len(source.text.splitlines())) > LINES_MAX}
    return [f"{path}: {lines} lines, two subjects?" for path, lines in sorted(long.items()) if path not in longer] + [
        f"{path}: is listed as longer, and is not" for path in sorted(set(longer) - set(long))
    ]


def undocumented_modules(sources: Iterable[Source]) -> list[str]:
    """Files that do not say what they are for; an empty one is for nothing but making a package."""
    return [
        f"{source.path}: has no docstring"
        for source in sources
        if source.tree.body and not ast.get_docstring(source.tree)
    ]


def lawless_tests(sources: Iterable[Source]) -> list[str]:
    """Test functions whose docstring does not state the law they check."""
    return [
        f"{source.path}:{node.lineno}: {name} states no law"
        for source in sources
        for name, node in source.functions
        if _is_test(name) and not ast.get_docstring(node)
    ]


def _is_test(name: str) -> bool:
    # A function inside of a test is a helper of it, whatever its name.
    *around, own = name.split(".")
    return own.startswith("test_") and all(part.startswith("Test") for part in around)


def _name(node: ast.AST) -> str:
    """The last part of a dotted name; empty for anything else."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _line(node: ast.AST) -> int:
    line: int = getattr(node, "lineno", 0)
    return line


Checker = Callable[[list[Source]], list[str]]
