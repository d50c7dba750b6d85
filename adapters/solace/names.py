"""Names on their way into a command: checked once more, right where the command is made.

The inventory and the engine have checked them already. This is the place where a slip would become a command, so
nothing is taken on trust here.
"""

from __future__ import annotations

import re

from orchestrator.errors import Forbidden
from orchestrator.model.inventory import SERVICE_NAME

# docs/sources/solace.md, 1.8: <formatId>-<gtrid>-<bqual> in hexadecimal, at most 266 characters. Letters beyond those
# digits are let through, in case a version writes local transactions otherwise; what could end a word is not.
_XID = re.compile(r"[0-9A-Za-z][0-9A-Za-z.:_-]{0,265}")
_SERVICE = re.compile(SERVICE_NAME)


def checked_service(name: str) -> str:
    """``name`` itself. Raises ``Forbidden`` for what cannot be a message VPN; nothing has been sent then."""
    if _SERVICE.fullmatch(name) is None or not name.isprintable() or name != name.strip():
        raise Forbidden(f"{name!r} is not put into a command: it cannot be the name of a message VPN")
    return name


def checked_xid(xid: str) -> str:
    """``xid`` itself. Raises ``Forbidden`` for what cannot be an XID; nothing has been sent then."""
    if _XID.fullmatch(xid) is None:
        raise Forbidden(f"{xid!r} is not put into a command: it cannot be an XID")
    return xid


def quoted(name: str) -> str:
    """``name`` as a word of the CLI: in double quotes when it has blanks (docs/sources/solace.md, 3.3)."""
    return f'"{name}"' if " " in name else name


def router_name(name: str) -> str:
    """A router's own name, without the prefix of a virtual router: ``v:NAME`` (docs/sources/solace-cli.md, 4)."""
    return name.strip().removeprefix("v:")


def checked_endpoint(name: str) -> str:
    """``name`` of a queue or topic endpoint. Raises ``Forbidden`` for one that is not one word of the CLI: a name with a
    quote cannot be quoted, and ``*`` and ``?`` match other names too."""
    if not name.isprintable() or name != name.strip() or any(letter in name for letter in '"*?'):
        raise Forbidden(f"{name!r} is not put into a command: the CLI would take it for something else")
    return name
