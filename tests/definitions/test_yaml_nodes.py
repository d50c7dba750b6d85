"""The two parsers of YAML: what the program ships means the same to both, and only that is given to the fast one."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from orchestrator.documents.yaml_nodes import PlainNodes, compose, fast_nodes
from orchestrator.model.families import SHIPPED

# PyYAML refuses it, libyaml does not.
_TAB_IN_A_TEXT = "a\tb: 1\n"


def _told(node: yaml.Node | None) -> object:
    """All that is read of a node: its tag, its line, whether it is in quotes, and what is in it."""
    if node is None:
        return None
    inside = node.value if isinstance(node, yaml.ScalarNode) else [_told(one) for one in _inside(node)]
    quotes = getattr(node, "style", None) or "" if isinstance(node, yaml.ScalarNode) else ""
    return node.tag, node.start_mark.line, quotes, inside


def _inside(node: yaml.Node) -> list[yaml.Node]:
    return [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else list(node.value)


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.yaml")), ids=lambda path: str(path.relative_to(SHIPPED)))
def test_shipped_files_mean_the_same_to_both_parsers(path: Path) -> None:
    """Law: of each file that comes with the program, libyaml reads the same values on the same lines as PyYAML."""
    text = path.read_text(encoding="utf-8")
    assert _told(fast_nodes(text).get_single_node()) == _told(PlainNodes(text).get_single_node()) is not None


def test_what_an_operator_writes_is_parsed_by_pyyaml() -> None:
    """Law: a file from elsewhere is taken or refused by PyYAML alone, also where libyaml would take it."""
    assert fast_nodes(_TAB_IN_A_TEXT).get_single_node() is not None, "control: libyaml takes it"
    with pytest.raises(yaml.YAMLError):
        compose(_TAB_IN_A_TEXT, is_shipped=False)
