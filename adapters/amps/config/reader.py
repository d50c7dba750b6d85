"""The methods that read a configuration: the text of a child, required or not, with remarks.

A remark is kept, never raised: one mistake in a file must not hide the others.
"""

from __future__ import annotations

from adapters.amps.config.includes import unresolved
from adapters.amps.config.model import Place, Remark
from adapters.amps.config.vocabulary import KNOWN, meant
from adapters.amps.config.xmltree import Element


class Reader:
    """Reads elements of one instance and collects ``remarks``."""

    def __init__(self) -> None:
        self.remarks: list[Remark] = []

    def remark(self, rule: str, message: str, at: Place, hint: str = "") -> None:
        self.remarks.append(Remark(rule, message, at, hint))

    def text(self, parent: Element, *tags: str) -> str:
        """The text of the only child with one of ``tags`` (later tags are older synonyms); "" when there is none."""
        found: Element | None = None
        for tag in tags:
            for child in parent.children:
                if child.tag != tag:
                    continue
                if found is None:
                    found = child
                elif found.tag == tag and found.text != child.text:
                    message = f"{tag} is given twice with different values; AMPS does not document which one it uses"
                    self.remark("element-repeated", message, Place.of(child), "keep one of them")
            if found is not None:
                break
        return "" if found is None else self._checked(found)

    def texts(self, parent: Element, tag: str) -> tuple[str, ...]:
        """The texts of all children ``tag``, in document order."""
        return tuple(self._checked(child) for child in parent.all(tag))

    def required(self, parent: Element, *tags: str) -> str:
        """Like ``text``, with a remark if there is none: AMPS and the checks need this text."""
        return self._present("missing-element", parent, *tags)

    def expected(self, parent: Element, *tags: str) -> str:
        """Like ``required``, for a text that AMPS requires and the checks do not need: the file may be an extract."""
        return self._present("missing-setting", parent, *tags)

    def _present(self, rule: str, parent: Element, *tags: str) -> str:
        value = self.text(parent, *tags)
        if not value:
            self.remark(rule, f"this {parent.tag} has no {tags[0]}", Place.of(parent))
        return value

    def known(self, element: Element, context: str) -> None:
        """Remarks on every child that AMPS does not document for ``context``."""
        known = KNOWN[context]
        for child in element.children:
            if child.tag not in known:
                self._unknown(child, element.tag, known)

    def _unknown(self, child: Element, parent: str, known: frozenset[str]) -> None:
        guess = meant(child.tag, known)
        message = f"{child.tag} is not a documented element of {parent}"
        rule = "element-misspelt" if guess else "element-unknown"
        self.remark(rule, message, Place.of(child), f"did you mean {guess}?" if guess else "")

    def _checked(self, element: Element) -> str:
        if "${" in element.text and (name := unresolved(element.text)):
            message = f"the variable {name} has no value, so the checks use {element.tag} as it is written"
            self.remark("variable-undefined", message, Place.of(element), f"give it: {name}=value")
        return element.text
