"""The nodes of a simulated AMPS instance's statistics: finds a node by path, cuts it out, writes it in three formats.

Sources: docs/sources/amps.md, 6. ``.json`` or ``.xml`` after any node gives the node with its children. ``.csv`` after
a leaf gives its history. The objects are ``amps`` > ``instance`` > node. A collection is a list of objects with
``id``. All values are texts. Undocumented behaviour is marked as an assumption, also in docs/how-to/amps-lab.md. All
functions are pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree.ElementTree import Element

from adapters.http.xmldoc import element, written

Tree = Mapping[str, Any]

# The XML names of the members of collections. Only that of processors is documented, so these are assumptions.
_MEMBERS: Mapping[str, str] = {
    "clients": "client",
    "journals": "journal",
    "queues": "queue",
    "replication": "destination",
    "sow": "topic",
    "transports": "transport",
}


class NoNode(Exception):
    """There is no such node."""


def cut_out(tree: Tree, path: Sequence[str]) -> Any:
    """The statistics reduced to the node at ``path``. Raises ``NoNode``.

    Assumption: siblings of the nodes on the path are left out, except the ``id`` of a member of a collection.
    """
    if not path:
        return dict(tree)
    name, *rest = path
    if name not in tree:
        raise NoNode(name)
    found = tree[name]
    if isinstance(found, list):
        return {name: _of_list(found, rest)}
    if isinstance(found, Mapping):
        return {name: cut_out(found, rest)}
    if rest:
        raise NoNode(rest[0])
    return {name: found}


def _of_list(members: list[Tree], rest: Sequence[str]) -> list[Any]:
    if not rest:
        return members
    wanted, *inner = rest
    member = next((one for one in members if one.get("id") == wanted), None)
    if member is None:
        raise NoNode(wanted)
    return [{"id": wanted, **cut_out(member, inner)} if inner else member]


def leaf(tree: Tree, path: Sequence[str]) -> str:
    """The value of the leaf at ``path``. Raises ``NoNode`` if the node is not a leaf."""
    node: Any = cut_out(tree, path)
    for name in path:
        if isinstance(node, list):
            node = node[0]  # cut out: the only member
        elif isinstance(node, Mapping):
            node = node[name]
        else:
            raise NoNode(name)
    if not isinstance(node, str):
        raise NoNode(path[-1])
    return node


def as_json(tree: Tree) -> bytes:
    """The tree as JSON: ``{"amps": {"instance": …}}``."""
    return json.dumps({"amps": {"instance": tree}}, separators=(",", ":")).encode()


def as_xml(tree: Tree) -> bytes:
    """The tree as XML: ``<amps><instance>…``, with the ``id`` of a member as an attribute."""
    return written(element("amps", element("instance", *_children(tree))))


def as_csv(history: Sequence[tuple[str, str]]) -> bytes:
    """One line ``ts,value`` for each sample."""
    return "".join(f"{moment},{value}\n" for moment, value in history).encode()


def _children(tree: Tree) -> list[Element]:
    return [_child(name, value) for name, value in tree.items() if name != "id"]


def _child(name: str, value: Any) -> Element:
    if isinstance(value, list):
        return element(name, *(_member(_MEMBERS.get(name, "item"), one) for one in value))
    if isinstance(value, Mapping):
        return element(name, *_children(value))
    return element(name, str(value))


def _member(tag: str, member: Tree) -> Element:
    made = element(tag, *_children(member))
    if "id" in member:
        made.set("id", str(member["id"]))
    return made
