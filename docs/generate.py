"""The pages of the reference that come from the code: commands, events, and the keys of every kind of file.

MkDocs loads this file as its hook (``mkdocs.yml``). It also turns links that leave ``docs/`` into names of files, because
a site has no such pages.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from orchestrator.cli.main import EXIT_CODES, app
from orchestrator.model.events import Event

_ROOT = Path(__file__).parents[1]
_SCHEMAS = {"inventory": "Inventory", "runbook": "Runbook", "family": "Family file", "xa-decisions": "Decisions file"}
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Name the files that are outside of ``docs/`` in place of a link to them."""
    folder = posixpath.dirname(page.file.src_uri)

    def named(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        if ":" in link[2] or not path.startswith("../"):
            return link[0]
        outside = path.removeprefix("../")
        text = link[1]
        return f"`{outside}`" if text.strip("`") in (outside, Path(outside).name) else f"{text} (`{outside}`)"

    return _LINK.sub(named, markdown)


def pages() -> Iterator[tuple[str, str]]:
    """Each generated page: its path below ``docs/``, and its Markdown."""
    root: Any = typer.main.get_command(app)
    tops = {name: one for name, one in root.commands.items() if not one.hidden}
    yield "reference/commands/index.md", _index(tops)
    for name, command in tops.items():
        yield f"reference/commands/{name}.md", "\n".join([f"# failover {name}", "", *_sections(name, command)])
    yield "reference/events.md", _events()
    for name, title in _SCHEMAS.items():
        yield f"reference/keys/{name}.md", _keys(name, title)


def _index(tops: Mapping[str, Any]) -> str:
    rows = [f"| [`failover {name}`]({name}.md) | {_summary(one)} |" for name, one in tops.items()]
    return "\n".join(["# Commands", "", "| command | does |", "| --- | --- |", *rows, "", EXIT_CODES, ""])


def _summary(command: Any) -> str:
    return _cell(" ".join(str(command.help or "").split("\n\n")[0].split()))


def _sections(path: str, command: Any) -> Iterator[str]:
    if hasattr(command, "commands"):
        yield from (_prose(str(command.help or "")), "")
        for name, one in command.commands.items():
            if not one.hidden:
                yield from (f"## failover {path} {name}", "", *_sections(f"{path} {name}", one))
        return
    yield from (_prose(str(command.help or "")), "")
    parameters = [one for one in command.get_params(typer.Context(command)) if not getattr(one, "hidden", False)]
    yield from ("| argument or option | means |", "| --- | --- |")
    for one in parameters:
        if one.param_type_name == "argument":
            names, text = f"`{_metavar(one)}`", one.help
        else:
            forms = ", ".join(f"`{form}`" for form in (*one.opts, *one.secondary_opts))
            names, text = forms + ("" if one.is_flag else f" `{_metavar(one)}`"), one.help
        yield f"| {_cell(names)} | {_cell(text or '')} |"
    yield ""


def _metavar(parameter: Any) -> str:
    if parameter.metavar:
        return str(parameter.metavar)
    return str(parameter.name).upper() if parameter.param_type_name == "argument" else "VALUE"


def _prose(text: str) -> str:
    """Paragraphs of a help text; a block that keeps its lines is a block of commands."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        if "\b" not in part:
            parts.append(" ".join(part.split()).replace("|", "\\|"))
            continue
        lines = part.replace("\b", "").strip("\n").splitlines()
        if lines and lines[0].rstrip().endswith(":"):
            parts.append(lines.pop(0).strip())
        parts.append("\n".join(["```text", *(line.strip() for line in lines), "```"]))
    return "\n\n".join(parts)


def _events() -> str:
    lines = ["# Events", "", "Every event of a run, as `--json` prints it and the journal keeps it.", ""]
    union = get_args(Event)[0]
    for model in sorted(get_args(union), key=lambda one: str(one.model_fields["kind"].default)):
        lines += [f"## `{model.model_fields['kind'].default}`", ""]
        if said := inspect.getdoc(model):
            lines += [_code_marks(said) if model.__doc__ and "kind" in model.__annotations__ else "", ""]
        fields = {name: field for name, field in model.model_fields.items() if name != "kind"}
        if fields:
            lines += ["| field | type |", "| --- | --- |"]
            lines += [f"| `{name}` | {_cell(f'`{_type(field.annotation)}`')} |" for name, field in fields.items()]
        lines.append("")
    return "\n".join(lines)


def _type(annotation: Any) -> str:
    text = inspect.formatannotation(annotation)
    text = re.sub(r"typing\.|collections\.abc\.|orchestrator(?:\.\w+)+\.|datetime\.", "", text)
    return re.sub(r"Annotated\[(.+?), [^\]]*\]", r"\1", text).replace("NoneType", "None")


def _keys(name: str, title: str) -> str:
    schema = json.loads((_ROOT / f"orchestrator/schemas/{name}.schema.json").read_text(encoding="utf-8"))
    lines = [f"# Keys: {title.lower()}", "", _code_marks(schema.get("description", "")), ""]
    for part, one in [(schema.get("title", title), schema), *sorted(schema.get("$defs", {}).items())]:
        if not one.get("properties"):
            continue
        lines += [f"## {part}", ""]
        if one is not schema and one.get("description"):
            lines += [_code_marks(one["description"]), ""]
        lines += ["| key | type | default |", "| --- | --- | --- |"]
        required = set(one.get("required", ()))
        for key, value in one["properties"].items():
            default = (
                "required" if key in required else f"`{json.dumps(value['default'])}`" if "default" in value else ""
            )
            lines.append(f"| `{key}` | {_cell(_schema_type(value))} | {_cell(default)} |")
        lines.append("")
    return "\n".join(lines)


def _schema_type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[1]
        return f"{name}"
    for both in ("anyOf", "oneOf"):
        if both in value:
            return " or ".join(dict.fromkeys(_schema_type(one) for one in value[both]))
    if "enum" in value:
        return ", ".join(f"`{one}`" for one in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if value.get("type") == "array":
        return f"list of {_schema_type(value.get('items', {}))}"
    if value.get("type") == "object" and isinstance(value.get("additionalProperties"), Mapping):
        return f"names, each with {_schema_type(value['additionalProperties'])}"
    return str(value.get("type", "any"))


def _code_marks(text: str) -> str:
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|")
