"""The statement as text and tokens: cleaned of its wrapping, bounded, and of one kind.

What can be told without a tree: length, characters, nesting, executable comments, and the keyword
it starts with. No meaning: that is `parse.py`, which stands above.
"""

from __future__ import annotations

import re

from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from dataagent_core.data.guard.refusals import Reason, refusal

MAX_BYTES = 100_000
MAX_TOKENS = 10_000
MAX_INDEXES = 200  # the parser takes quadratic time for a[1][1]…
MAX_NESTING = 30

_FENCE = re.compile(r"\A```[A-Za-z0-9_+-]*[ \t]*\r?\n(?P<sql>.*?)\r?\n?[ \t]*```\Z", re.DOTALL)
_ONE_QUERY = "Send one SELECT, WITH or VALUES query."
_OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE}
_CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END}
_QUERY_STARTS = {TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.L_PAREN}
_EXECUTABLE = re.compile(r"\AM?!")  # what MySQL and MariaDB run although it looks like a comment
_WRITING = (
    "INSERT UPDATE DELETE REPLACE MERGE TRUNCATE CREATE DROP ALTER RENAME GRANT REVOKE COPY "
    "EXPORT IMPORT LOAD INSTALL ATTACH DETACH VACUUM REINDEX CLUSTER COMMENT REFRESH CHECKPOINT "
    "OPTIMIZE REPAIR PURGE"
)
_REASONS: dict[str, Reason] = {
    **dict.fromkeys(_WRITING.split(), "statement_writes"),
    "LOCK": "locking",
}


def cleaned(sql: str) -> str:
    """The statement without white space, a Markdown fence and semicolons around it.

    Raises `QueryRefused` for text that no statement needs: too long, NUL, half characters, nothing.
    """
    if "\x00" in sql:
        raise refusal("nul_byte", "The statement holds a NUL character.", hint="Remove it.")
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise refusal(
            "bad_text", "The statement holds half of a character.", hint="Send valid Unicode."
        ) from None
    if size > MAX_BYTES:
        raise _too_long(f"{size:,} bytes, more than the {MAX_BYTES:,} allowed")
    text = sql.strip().removeprefix("\ufeff")
    fenced = _FENCE.match(text)
    text = (fenced["sql"] if fenced else text).strip()
    while text.endswith(";"):
        text = text[:-1].rstrip()
    if not text:
        raise refusal("empty", "There is no statement.", hint=_ONE_QUERY)
    return text


def checked_tokens(text: str, dialect: Dialect) -> list[Token]:
    """The statement's tokens. Raises `QueryRefused` by what tokens alone can tell."""
    try:
        tokens = dialect.tokenize(text)
    except TokenError as error:
        raise unparsable(str(error)) from error
    if not tokens:
        raise refusal("empty", "There is only a comment.", hint=_ONE_QUERY)
    if len(tokens) > MAX_TOKENS:
        raise _too_long(f"{len(tokens):,} words and signs, more than the {MAX_TOKENS:,} allowed")
    indexes = sum(token.token_type == TokenType.L_BRACKET for token in tokens)
    if indexes > MAX_INDEXES:
        raise _too_long(f"{indexes:,} square brackets, more than the {MAX_INDEXES} allowed")
    _check_comments(tokens, dialect)
    _check_nesting(tokens)
    _check_start(tokens)
    return tokens


def unparsable(why: str) -> Exception:
    """The refusal of a text that is no statement of the dialect."""
    plain = re.sub(r"\x1b\[\d+m", "", why).split("\n")[0]
    hint = "Correct the syntax for this source's SQL dialect, and send one query."
    return refusal("not_parsable", f"The statement cannot be read: {plain}", hint=hint)


def too_deep() -> Exception:
    """The refusal of a statement whose parts are nested too deep to be checked."""
    hint = "Name inner queries in a WITH clause instead of nesting them."
    return refusal("too_deep", f"The statement nests more than {MAX_NESTING} levels.", hint=hint)


def _too_long(what: str) -> Exception:
    hint = "Ask for less in one statement; join with a table instead of listing values."
    return refusal("too_long", f"The statement has {what}.", hint=hint)


def _check_comments(tokens: list[Token], dialect: Dialect) -> None:
    if not isinstance(dialect, MySQL):
        return
    if any(_EXECUTABLE.match(comment) for token in tokens for comment in token.comments):
        raise refusal(
            "executable_comment",
            "The statement holds a comment that the server would run (/*! … */).",
            hint="Write the statement without it.",
        )


def _check_nesting(tokens: list[Token]) -> None:
    depth = 0
    for token in tokens:
        if token.token_type in _OPENING:
            depth += 1
            if depth > MAX_NESTING:
                raise too_deep()
        elif token.token_type in _CLOSING:
            depth = max(depth - 1, 0)


def _check_start(tokens: list[Token]) -> None:
    """Whether it begins as a query does; what does not is never given to the parser."""
    first = next((one for one in tokens if one.token_type != TokenType.L_PAREN), tokens[0])
    word = first.text.upper().split()[0] if first.text.strip() else first.text
    if first.token_type in _QUERY_STARTS or word in {"FROM", "TABLE"}:
        return
    reason = _REASONS.get(word, "not_a_query")
    what = "changes data or the schema" if reason == "statement_writes" else "is not a query"
    shown = word[:40]
    raise refusal(reason, f"A statement that starts with {shown} {what}.", hint=_ONE_QUERY)
