"""Where the items of SELECT lists stand in the text: engines call an output by its text."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from dataagent_core.data.guard.edits import PLACE, is_written
from dataagent_core.data.guard.statement import AFTER_AN_ITEM, CLOSING, OPENING, ParsedStatement

TextRange = tuple[int, int]

_MODIFIERS = {TokenType.DISTINCT, TokenType.ALL}


class SelectItems:
    """The items of all SELECT lists, by the place of their first and last character."""

    def __init__(self, statement: ParsedStatement) -> None:
        self._statement = statement
        tokens = statement.tokens
        starts = [at for at, one in enumerate(tokens) if one.token_type == TokenType.SELECT]
        self.places: list[TextRange] = [place for at in starts for place in self._list(at + 1)]

    def place(self, node: exp.Expr) -> TextRange | None:
        """The place of an item of the tree; None if its place is unknown."""
        written = list(_written(node))
        if not written:
            return None
        start, end = min(each[0] for each in written), max(each[1] for each in written)
        around = sorted(each for each in self.places if each[0] <= start and end <= each[1])
        depth = _lists_around(node)  # items hold inner queries, which have items
        return around[depth] if depth < len(around) else None

    def _list(self, at: int) -> list[TextRange]:
        """The items after the word SELECT."""
        tokens = self._statement.tokens
        while at < len(tokens) and tokens[at].token_type in _MODIFIERS:
            at += 1
        places: list[TextRange] = []
        depth, first = 0, at
        for index in range(at, len(tokens) + 1):
            kind = tokens[index].token_type if index < len(tokens) else TokenType.SEMICOLON
            if depth == 0 and self._is_end(index, kind):
                if first < index:
                    places.append((tokens[first].start, tokens[index - 1].end))
                if kind != TokenType.COMMA:
                    break
                first = index + 1
            depth += (kind in OPENING) - (kind in CLOSING)
        return places

    def _is_end(self, index: int, kind: TokenType) -> bool:
        if kind == TokenType.FROM:  # not that of IS DISTINCT FROM
            return self._statement.tokens[index - 1].token_type != TokenType.DISTINCT
        return kind in AFTER_AN_ITEM or kind in CLOSING or kind == TokenType.SEMICOLON


def _written(node: exp.Expr) -> Iterator[TextRange]:
    """The places of what the author wrote of a node; what a policy put in stands in a table's."""
    for each in node.walk(prune=lambda one: PLACE in one.meta):
        if PLACE in each.meta:
            yield each.meta[PLACE]
        elif is_written(each):
            yield each.meta["start"], each.meta["end"]


def _lists_around(node: exp.Expr) -> int:
    """In how many SELECT lists the list of this item stands."""
    depth = 0
    inside: exp.Expr | None = node.parent
    while inside is not None:
        if isinstance(inside.parent, exp.Select) and inside.arg_key == "expressions":
            depth += 1
        inside = inside.parent
    return depth
