"""The command line of `dataagent-harbor`; it imports argparse and no more."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

_RUN_EXAMPLES = """\
examples:
  dataagent-harbor run sample --url http://127.0.0.1:8000 --output report.json --html report.html
  dataagent-harbor run questions.jsonl --mode rest --concurrency 8 --rate 2 --ramp 30
  dataagent-harbor run sample --output new.json --baseline old.json --slower-by 1.5

The key is read from DATAAGENT_API_KEY unless --api-key gives it. With LANGSMITH_TRACING_V2=true
(or LANGSMITH_TRACING) and LANGSMITH_API_KEY each question is traced to LangSmith, with its result
as feedback.
exit status: 0 all passed (or no worse than the baseline), 1 some did not, 2 wrong usage,
3 the server cannot be reached
"""
_LOAD_EXAMPLES = """\
examples:
  dataagent-harbor load sample --users 1000 --think 20 --duration 2m --html load.html
  dataagent-harbor load sample --steps 50,100,200,400 --think 5 --duration 30s
  dataagent-harbor load sample --users 200 --soak 8h --output soak.json

exit status: 0 every question was answered and no event was lost or doubled, 1 otherwise,
2 wrong usage, 3 the server cannot be reached
"""
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class HarborOptions(argparse.Namespace):
    """The parsed command line: options of both commands, then of `run`, then of `load`."""

    command: str
    questions: str
    url: str
    api_key: str | None
    mode: str
    assistant_id: str | None
    timeout: float
    ramp: float
    output: Path | None
    html: Path | None
    markdown: Path | None

    is_approving: bool
    concurrency: int
    rate: float | None
    rounds: int
    warm_up: int
    input_price: float | None
    output_price: float | None
    currency: str
    langsmith_dataset: str | None
    junit: Path | None
    transcripts: Path | None
    baseline: Path | None
    slower_by: float | None

    users: int
    steps: list[int] | None
    think: float
    duration: float
    soak: float | None


_Commands = argparse._SubParsersAction  # pyright: ignore[reportPrivateUsage] it has no public name


def build_parser() -> argparse.ArgumentParser:
    """The parser of the program."""
    parser = argparse.ArgumentParser(
        prog="dataagent-harbor", description="Ask a DataAgent server questions and grade it."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    run = _command(commands, "run", "ask a set of questions and grade the answers", _RUN_EXAMPLES)
    _add_server(run)
    _add_pace(run)
    _add_cost(run)
    _add_output(run)
    load = _command(commands, "load", "put the load of many users on a server", _LOAD_EXAMPLES)
    _add_server(load)
    _add_users(load)
    _add_files(load, (("output", "the report as JSON"), *_PAGES))
    return parser


def _command(
    commands: _Commands[argparse.ArgumentParser],
    name: str,
    what: str,
    examples: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=what, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    command.add_argument(
        "questions", metavar="QUESTIONS", help="a .json, .jsonl or .csv file, or 'sample'"
    )
    return command


def _add_server(command: argparse.ArgumentParser) -> None:
    server = command.add_argument_group("the server")
    server.add_argument("--url", default="http://127.0.0.1:8000", help="its address")
    server.add_argument("--api-key", metavar="KEY", help="better set DATAAGENT_API_KEY")
    server.add_argument("--mode", choices=("rest", "ws"), default="ws", help="REST or WebSocket")
    server.add_argument(
        "--agent", dest="assistant_id", metavar="NAME", help="the agent that answers"
    )
    server.add_argument(
        "--timeout", type=_positive, default=120.0, metavar="SECONDS", help="limit of an answer"
    )


def _add_pace(run: argparse.ArgumentParser) -> None:
    pace = run.add_argument_group("pace")
    pace.add_argument("--concurrency", type=_above_zero, default=4, help="most questions at once")
    pace.add_argument("--rate", type=_positive, help="questions a second")
    pace.add_argument("--ramp", type=_seconds, default=0.0, help="seconds to reach the full pace")
    pace.add_argument("--rounds", type=_above_zero, default=1, help="times each question is asked")
    pace.add_argument("--warm-up", type=_count, default=0, help="ungraded questions asked before")
    pace.add_argument(
        "--approve",
        dest="is_approving",
        action="store_true",
        help="approve calls that wait for approval; otherwise they are rejected",
    )


def _add_cost(run: argparse.ArgumentParser) -> None:
    cost = run.add_argument_group("cost (as the server says, unless prices are given)")
    for name in ("input", "output"):
        cost.add_argument(
            f"--{name}-price",
            type=_seconds,
            metavar="PRICE",
            help=f"price of a million {name} tokens",
        )
    cost.add_argument("--currency", default="USD", help="currency of the prices")


_PAGES = (("html", "the report as a page"), ("markdown", "the report as Markdown"))


def _add_output(run: argparse.ArgumentParser) -> None:
    out = _add_files(
        run,
        (
            ("output", "the report as JSON"),
            *_PAGES,
            ("junit", "the report for CI systems"),
            ("transcripts", "every answer, one a line; with the same file a run is continued"),
            ("baseline", "an earlier report: fail only where this run is worse"),
        ),
    )
    out.add_argument(
        "--slower-by",
        type=_positive,
        metavar="RATIO",
        help="fail when latency is more than RATIO times the baseline's",
    )
    out.add_argument(
        "--langsmith-dataset",
        metavar="NAME",
        help="store the questions as a LangSmith data set, and this run as its experiment",
    )


def _add_users(load: argparse.ArgumentParser) -> None:
    users = load.add_argument_group("users")
    users.add_argument("--users", type=_above_zero, default=100, help="users connected at once")
    users.add_argument(
        "--steps", type=_steps, metavar="N,N,…", help="numbers of users, one step after another"
    )
    users.add_argument(
        "--think", type=_duration, default=10.0, help="mean pause of a user after an answer"
    )
    users.add_argument("--ramp", type=_duration, default=5.0, help="time until all are connected")
    users.add_argument(
        "--duration", type=_duration, default=60.0, help="of each step: 30s, 10m, 8h"
    )
    users.add_argument(
        "--soak",
        type=_duration,
        metavar="DURATION",
        help="one long step, watching memory and latency",
    )


def _add_files(
    command: argparse.ArgumentParser,
    files: tuple[tuple[str, str], ...],
    # argparse has no public name for it
) -> argparse._ArgumentGroup:  # pyright: ignore[reportPrivateUsage]
    out = command.add_argument_group("files")
    for name, what in files:
        out.add_argument(f"--{name}", type=Path, metavar="FILE", help=what)
    return out


def _positive(text: str) -> float:
    value = _seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError("must be above zero")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("must be zero or more")
    return value


def _duration(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write 90, 90s, 10m or 8h")
    return float(found[1]) * _UNITS[found[2]]


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError("must be zero or more")
    return value


def _above_zero(text: str) -> int:
    if (value := _count(text)) == 0:
        raise argparse.ArgumentTypeError("must be above zero")
    return value


def _steps(text: str) -> list[int]:
    steps = [_above_zero(part) for part in text.split(",")]
    if steps != sorted(set(steps)):
        raise argparse.ArgumentTypeError("must grow from step to step")
    return steps
