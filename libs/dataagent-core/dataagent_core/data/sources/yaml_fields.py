"""YAML whose values know their line, so that a mistake can be named.

Only what the configuration file needs: objects with known fields, lists, text, numbers. A message
names file, line and field, and never quotes a value, which may be a password. Above:
`config_file.py`. Below: PyYAML's node tree.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# PyYAML has no types of its own for nodes and constructors; this module is the border to it

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.constructor import ConstructorError, SafeConstructor
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dataagent_core.errors import Misconfigured


@dataclass(frozen=True, slots=True)
class YamlField:
    """A value in a file, with the path that leads to it."""

    file: str
    path: str
    node: Node

    @property
    def line(self) -> int:
        """Where the value starts, counted from one."""
        return self.node.start_mark.line + 1

    def error(self, what: str) -> Misconfigured:
        """The error that says what is wrong here."""
        where = f": {self.path}" if self.path else ""
        return Misconfigured(f"{self.file}, line {self.line}{where} {what}")

    def fields(self, known: Set[str] | None = None) -> dict[str, YamlField]:
        """The fields of an object.

        Raises:
            Misconfigured: it is none, a field comes twice, or is not among the known ones.
        """
        if not isinstance(self.node, MappingNode):
            raise self.error("must be an object with fields.")
        found: dict[str, YamlField] = {}
        for key, value in self.node.value:
            name = str(key.value) if isinstance(key, ScalarNode) else "?"
            field = YamlField(self.file, f"{self.path}.{name}".lstrip("."), value)
            if name in found:
                raise field.error("is given twice.")
            if known is not None and name not in known:
                raise field.error(f"is not known. Known are: {', '.join(sorted(known))}.")
            found[name] = field
        return found

    def items(self) -> Iterator[YamlField]:
        """The items of a list.

        Raises:
            Misconfigured: it is none.
        """
        if not isinstance(self.node, SequenceNode):
            raise self.error("must be a list.")
        for number, item in enumerate(self.node.value):
            yield YamlField(self.file, f"{self.path}[{number}]", item)

    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.node, SequenceNode)

    def is_object(self) -> bool:
        """Whether the value has fields."""
        return isinstance(self.node, MappingNode)

    def text(self) -> str:
        """The value as it is written.

        Raises:
            Misconfigured: it is a list, an object or nothing.
        """
        if not isinstance(self.node, ScalarNode) or self.node.tag == "tag:yaml.org,2002:null":
            raise self.error("must be text.")
        return str(self.node.value)

    def number(self) -> float:
        """The value as a number.

        Raises:
            Misconfigured: it is none.
        """
        value = self.plain()
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error("must be a number.")
        return value

    def plain(self) -> Any:
        """The value with everything in it, as Python has it.

        Raises:
            Misconfigured: it holds something that is no plain data.
        """
        try:
            return SafeConstructor().construct_document(self.node)
        except (ConstructorError, ValueError):  # no cause: it may quote the value
            pass
        raise self.error("cannot be read.")


def read_yaml(text: str, *, file: str) -> YamlField | None:
    """The document in a text, or None if the text is empty.

    Raises:
        Misconfigured: it is not YAML; names the line.
    """
    try:
        node: Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:  # no cause: it may quote the file, passwords and all
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    else:
        return None if node is None else YamlField(file, "", node)
    raise Misconfigured(
        f"{file}{where}: this is not YAML. Look for a missing space after ':', a tab, or a value "
        "that needs quotes."
    )
