"""A call as lines for the screen, and as a text to edit.

A line is a list of styled pieces without tabs; control characters are spelled out, so that none
takes effect and nothing is hidden. A call about one text (a command, a statement, code, the content
of a file) is edited as that text, any other as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, cast

import orjson
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.styles.pygments import (
    pygments_token_to_classname,  # pyright: ignore[reportUnknownVariableType] of pygments' tokens
)
from prompt_toolkit.utils import get_cwidth

from dataagent_cli.ui.clean import escape_controls, one_line
from dataagent_cli.ui.describe import count_diff_lines, full_args, hunks, is_complete_diff
from dataagent_core.errors import BadDecision
from dataagent_core.hitl import ActionRequest, EditedAction, check_arguments

Line = list[tuple[str, str]]
_TAB_COLUMNS = 4
_DIFF_STYLES = {"+": "ansigreen", "-": "ansired", "@": "ansicyan"}
_LANGUAGES = {"command": "bash", "code": "python", "sql": "sql", "query": "sql"}
_REQUESTING = "http_request"  # other tools may use an address in other ways
_REQUEST = ("method", "url")
_OVER_RESULTS = "query_artifact"  # its `query` is SQL, though its name does not say so


def title(action: ActionRequest) -> str:
    """The call in a few words: the tool, the file, and how many lines change."""
    name = one_line(action.name)
    if not action.diff:
        return name
    path = _in_line(action.args.get("file_path") or action.args.get("path") or "")
    changed = count_diff_lines(action.diff)
    return f"{name} {path}" + ("" if changed is None else f" (+{changed[0]} −{changed[1]})")


def preview(action: ActionRequest) -> list[Line]:
    """The whole call: a diff, a request, or its arguments."""
    if action.diff:
        rest = [] if is_complete_diff(action.diff) else [[], *_arguments(action)]
        return [*_diff(action.diff), *rest]
    if action.name == _REQUESTING and "url" in action.args:
        return _request(action.args)
    return _arguments(action)


def text_argument(action: ActionRequest) -> str | None:
    """The name of the argument with the call's command, code or statement, if it has one."""
    named = [name for name in _LANGUAGES if isinstance(action.args.get(name), str)]
    if named and _language(action.name, named[0]) is not None:
        return named[0]
    return None


def _language(tool_name: str, argument: str) -> str | None:
    if argument == "query" and "sql" not in tool_name and tool_name != _OVER_RESULTS:
        return None
    return _LANGUAGES.get(argument)


def _diff(diff: str) -> list[Line]:
    """The changed lines; the file's name is in the title."""
    lines = hunks("\n".join(_clean(diff)))
    return [[(_DIFF_STYLES.get(line[:1], ""), line)] for line in lines]


def _request(args: Mapping[str, Any]) -> list[Line]:
    """A request as HTTP writes it: method and address, headers, body."""
    method = _in_line(args.get("method") or "GET").upper()
    lines: list[Line] = [[("bold", f"{method} {_in_line(args['url'])}")]]
    rest = {name: value for name, value in args.items() if name not in _REQUEST}
    for name, value in rest.items():
        if value in (None, {}, []):
            continue
        if name == "headers" and isinstance(value, dict):
            headers = cast("dict[object, object]", value)  # of whatever JSON holds
            lines += [[("", f"{_in_line(k)}: {_in_line(v)}")] for k, v in headers.items()]
        else:
            text = value if isinstance(value, str) else _value_json(value)
            lines += [[], *_highlight(text, "json" if text[:1] in "{[" else None)]
    return lines


def _arguments(action: ActionRequest) -> list[Line]:
    """The call's text in the colours of its language, then the other arguments."""
    main = text_argument(action)
    rest = {name: value for name, value in action.args.items() if name != main}
    listed: list[Line] = [[("", line)] for each in full_args(rest) for line in _clean(each)]
    if main is None:
        return listed
    code = _highlight(str(action.args[main]), _language(action.name, main))
    return [*code, *([[]] if listed else []), *listed]


def _highlight(text: str, language: str | None) -> list[Line]:
    """A text in the colours of its language, if it has one."""
    plain = "\n".join(_clean(text))
    if language is None:
        return [[("", line)] for line in plain.split("\n")]
    from pygments import lex  # only needed here
    from pygments.lexers import (
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType] any options
    )

    lines: list[Line] = [[]]
    for token, value in lex(plain, get_lexer_by_name(language, stripnl=False, ensurenl=False)):
        style = f"class:{pygments_token_to_classname(token)}"
        first, *more = value.split("\n")
        lines[-1].append((style, first))
        lines += [[(style, part)] for part in more]
    return lines


def _value_json(value: object) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return str(value)


def _clean(text: str) -> list[str]:
    return escape_controls(text).expandtabs(_TAB_COLUMNS).split("\n")


def _in_line(value: object) -> str:
    """A value on one line, its line ends spelled out."""
    return "\\n".join(_clean(str(value)))


def wrap_lines(lines: Iterable[Line], columns: int) -> list[Line]:
    """The lines, broken at a width in columns; a Chinese character has two."""
    out: list[Line] = []
    for line in lines:
        out.append([])
        used = 0
        for style, text in line:
            for piece, is_new in _wrap_text(text, columns, used):
                if is_new:
                    out.append([])
                    used = 0
                out[-1].append((style, piece))
                used += get_cwidth(piece)
    return out


def _wrap_text(text: str, columns: int, used: int) -> Iterable[tuple[str, bool]]:
    """A text in pieces that fit; True for one that begins a row."""
    piece, is_new = "", False
    for character in text:
        width = get_cwidth(character)
        if used + width > columns and used:
            yield piece, is_new
            piece, is_new, used = "", True, 0
        piece += character
        used += width
    yield piece, is_new


def join_lines(lines: Iterable[Line]) -> StyleAndTextTuples:
    """Lines as one formatted text, each with its end."""
    return [piece for line in lines for piece in [*line, ("", "\n")]]


_SUFFIXES = {"command": ".sh", "code": ".py", "sql": ".sql", "query": ".sql"}
_CONTENT = "content"


@dataclass(frozen=True, slots=True)
class CallDraft:
    """A text to edit, the suffix of its file, and the argument it replaces; None: all of them."""

    text: str
    suffix: str
    argument: str | None


def draft_call(action: ActionRequest) -> CallDraft:
    """A call as a text to edit."""
    argument = _argument(action)
    if argument is None:
        return CallDraft(_arguments_json(action.args), ".json", None)
    return CallDraft(str(action.args[argument]), _suffix(action, argument), argument)


def apply_draft(action: ActionRequest, edited: CallDraft) -> EditedAction:
    """The call of an edited draft.

    Raises:
        BadDecision: the draft is not JSON, or does not fit the tool.
    """
    args = action.args
    if edited.argument is None:
        args = _parsed(edited.text)
    else:
        args = {**args, edited.argument: _keep_line_end(edited.text, str(args[edited.argument]))}
    check_arguments(action, args)
    return EditedAction(action.name, args)


def _argument(action: ActionRequest) -> str | None:
    if isinstance(action.args.get(_CONTENT), str):
        return _CONTENT
    found = text_argument(action)
    if found is None and len(action.args) == 1:
        ((found, value),) = action.args.items()
        return found if isinstance(value, str) else None
    return found


def _suffix(action: ActionRequest, argument: str) -> str:
    if argument == _CONTENT:
        return PurePosixPath(str(action.args.get("file_path", ""))).suffix or ".txt"
    return _SUFFIXES.get(argument, ".txt")


def _keep_line_end(text: str, before: str) -> str:
    """Drop the line end that editors add, if there was none before."""
    return text if before.endswith("\n") else text.removesuffix("\n")


def _arguments_json(args: dict[str, Any]) -> str:
    try:
        return orjson.dumps(args, option=orjson.OPT_INDENT_2).decode() + "\n"
    except TypeError:  # an integer beyond 64 bits, a lone surrogate
        import json

        return json.dumps(args, indent=2) + "\n"


def _parsed(text: str) -> dict[str, Any]:
    import json  # keeps integers of any size

    try:
        args: object = json.loads(text)
    except ValueError as error:
        raise BadDecision(f"This is not JSON: {error}.") from error
    if not isinstance(args, dict):
        raise BadDecision("The arguments are a JSON object: { … }.")
    return args  # pyright: ignore[reportUnknownVariableType] JSON
