"""Renders the only SQL that a driver gets: the author's tokens, without comments.

What the resolver and a policy changed (`edits.py`) is written over its place in the text by
sqlglot's generator; everything else is sent as it was written, so it means what it meant. Engines
name an output without an alias by its text, so the places of SELECT items are tracked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar
from sqlglot.errors import ErrorLevel, UnsupportedError
from sqlglot.generator import Generator
from sqlglot.tokenizer_core import Token, TokenType

from dataagent_core.data.dialects import Dialect
from dataagent_core.data.sql.edits import (
    GROUPED_TOO,
    HAS_SCHEMA,
    PLACE,
    SAMPLED_INSIDE,
    is_written,
    quoted,
)
from dataagent_core.data.sql.refusals import refusal
from dataagent_core.data.sql.statement import (
    AFTER_AN_ITEM,
    CLOSING,
    OPENING,
    ParsedStatement,
    gaps,
    too_deep,
    unparsable,
)

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


def render(statement: ParsedStatement) -> str:
    """The statement as text for the driver. Raises `QueryRefused` if it cannot be written."""
    edits = {start: (end, text) for start, end, text in _edits(statement)}
    before, after = _insertions(statement)
    written: list[str] = []
    skipped_to = -1
    tokens = list(gaps(statement))
    for index, (token, gap) in enumerate(tokens):
        if token.start > skipped_to:
            written.append(gap)
            if token.token_type == TokenType.TABLE and _follows(tokens, index) in edits:
                written.append("SELECT * FROM")  # TABLE takes a name alone
            elif token.start in edits:
                skipped_to, text = edits.pop(token.start)
                written.append(text)
            else:
                text = statement.text[token.start : token.end + 1]
                written += (before.get(token.start, ""), text)
        written.append(after.get(token.end, ""))
    if edits:  # a policy's sub-query would be missing
        raise unparsable("a name stands where none was expected.")
    return "".join(written)


def _follows(tokens: list[tuple[Token, str]], index: int) -> int | None:
    """Where the next token begins."""
    return tokens[index + 1][0].start if index + 1 < len(tokens) else None


def write(node: exp.Expr, dialect: Dialect) -> str:
    """A node as text of the dialect. Raises `QueryRefused` if the dialect has no words for it."""
    try:
        return _generator(dialect).generate(node)
    except UnsupportedError as error:
        raise refusal(
            "node_not_allowed",
            f"The statement has a part this source's SQL does not: {error}",
            hint="Write it with what the dialect has.",
        ) from error
    except RecursionError:
        raise too_deep() from None


def _edits(statement: ParsedStatement) -> Iterator[tuple[int, int, str]]:
    """The places that are written anew, each with its text; none lies within another."""
    nodes = [node for node in statement.tree.walk() if PLACE in node.meta]
    nodes.sort(key=lambda node: (node.meta[PLACE][0], -node.meta[PLACE][1]))
    last = -1
    for node in nodes:
        start, end = node.meta[PLACE]
        if start > last:
            yield start, end, write(_without_what_follows(node), statement.dialect)
            last = end
            if SAMPLED_INSIDE in node.meta:
                last = _sample_end(statement, end)
                yield _sample_start(statement, end), last, ""


def _sample_start(statement: ParsedStatement, after: int) -> int:
    starts = (one for one in statement.tokens if one.token_type == TokenType.TABLE_SAMPLE)
    return next(one.start for one in starts if one.start > after)


def _sample_end(statement: ParsedStatement, after: int) -> int:
    """The last character of `TABLESAMPLE method (size) REPEATABLE (seed)`, after a table."""
    start = _sample_start(statement, after)
    tokens = [one for one in statement.tokens if one.start > start]
    closing = [at for at, one in enumerate(tokens) if one.token_type == TokenType.R_PAREN]
    following = tokens[closing[0] + 1 : closing[0] + 2]
    has_seed = bool(following) and following[0].text.upper() == "REPEATABLE"
    return tokens[closing[1 if has_seed else 0]].end


def _without_what_follows(node: exp.Expr) -> exp.Expr:
    """The node without its alias, joins and sample, where those stand in the text after it."""
    if not isinstance(node, exp.Table | exp.Subquery):
        return node
    parts = {name: value for name, value in node.args.items() if name in ("this", "db") and value}
    bare = type(node)(**{name: part.copy() for name, part in parts.items()})
    alias = node.args.get("alias")
    if alias is not None and not is_written(alias.this):
        bare.set("alias", alias.copy())
    return bare


def _insertions(statement: ParsedStatement) -> tuple[dict[int, str], dict[int, str]]:
    """What is added before a token, by its first character, and after one, by its last.

    An output without a name gets the one that its author sees: most engines call it as it is
    written, and would show the sub-query of a policy. PostgreSQL does not, but it chooses among
    functions of one name by their arguments, wherever they are: one that a user put into another
    schema could be preferred to the built-in one that was checked.
    """
    dialect = statement.dialect
    before: dict[int, str] = {}
    after = {} if dialect.labels == "name" else dict(_kept_labels(statement))
    schema = dialect.function_schema
    for node in statement.tree.walk() if schema or dialect.groups_by_primary_key else ():
        if schema and isinstance(node, exp.Anonymous) and is_written(node):
            name = node.name.lower()
            if name not in dialect.functions_without_schema and HAS_SCHEMA not in node.meta:
                before[node.meta["start"]] = f"{schema}."
        elif isinstance(node, exp.Group) and GROUPED_TOO in node.meta:
            added = [write(each, dialect) for each in node.meta[GROUPED_TOO]]
            _, last = statement.item_at(_last_written(node))
            after[last] = "".join(f", {each}" for each in added)
    return before, after


def _kept_labels(statement: ParsedStatement) -> Iterator[tuple[int, str]]:
    """An alias for each output that its engine would call by a text that is not the author's.

    The text of an inner query would show what a policy put into it, too.
    """
    edits = [node for node in statement.tree.walk() if PLACE in node.meta]
    changed = [node.meta[PLACE][0] for node in edits if _is_in_label(node, statement.dialect)]
    changed += _new_gaps(statement) if statement.dialect.labels == "text" else []
    items = SelectItems(statement)
    places = [each for each in items.places if any(each[0] <= at <= each[1] for at in changed)]
    if not places:
        return
    for select in statement.tree.find_all(exp.Select):
        for each in select.expressions:
            if isinstance(each, _NAMED):
                continue
            place = items.place(each)
            if place is None and each.find(exp.Subquery):
                raise unparsable("an item of a SELECT list cannot be found. Name it with AS.")
            if place in places:
                yield place[1], f" AS {write(quoted(_label(statement, place)), statement.dialect)}"


def _is_in_label(node: exp.Expr, dialect: Dialect) -> bool:
    """Whether the change shows: a label in the engine's own spelling shows an inner query alone."""
    return dialect.labels == "text" or isinstance(node, exp.Subquery)


def _new_gaps(statement: ParsedStatement) -> Iterator[int]:
    """Where the author's tokens are sent with something else between them, such as no comment."""
    end = 0
    for token, gap in gaps(statement):
        if gap != statement.text[end : token.start] or end in statement.spaces:
            yield end - 1
        end = token.end + 1
    if statement.text[end:].strip():
        yield end - 1


def _label(statement: ParsedStatement, place: tuple[int, int]) -> str:
    start, end = place[0], place[1] + 1
    if statement.dialect.labels_hold_comments:
        nexts = (one.start for one in statement.tokens if one.start >= end)
        end = next(nexts, len(statement.text))
    ours = {at - start for at in statement.spaces}
    written = (sign for at, sign in enumerate(statement.text[start:end]) if at not in ours)
    label = "".join(written).rstrip()
    return label[: statement.dialect.longest_label]


def _last_written(group: exp.Group) -> int:
    starts = [node.meta["start"] for node in group.walk() if is_written(node)]
    return max(starts)


_NAMED = (exp.Alias, exp.Column, exp.Star)


def _generator(dialect: Dialect) -> Generator:
    return _generator_class(dialect)(
        dialect=dialect.name,
        comments=False,
        normalize_functions=False,
        unsupported_level=ErrorLevel.RAISE,
    )


@lru_cache(maxsize=32)
def _generator_class(dialect: Dialect) -> type[Generator]:
    base = Grammar.get_or_raise(dialect.name).generator_class
    own: dict[str, Any] = {"MULTI_ARG_DISTINCT": True}  # else DISTINCT a, b is rewritten
    if dialect.regexp_operator:
        own["TRANSFORMS"] = {**base.TRANSFORMS, exp.RegexpLike: _infix(dialect.regexp_operator)}
    if dialect.cast_types:
        types = {exp.DType[name]: written for name, written in dialect.cast_types.items()}
        own["TYPE_MAPPING"] = {**base.TYPE_MAPPING, **types}
        own["cast_sql"] = Generator.cast_sql
    return type("PlainGenerator", (base,), own)


def _infix(operator: str) -> Callable[[Generator, exp.Binary], str]:
    return lambda generator, node: generator.binary(node, operator)
