"""`dataagent init`: chooses the model, checks it with one request, and stores the choice.

Nothing is written before the end, and then all or nothing; other lines of `config.toml` stay.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dataagent_cli import exit_codes
from dataagent_cli.failures import explain
from dataagent_cli.setup.model_check import NO_NETWORK, try_model
from dataagent_cli.setup.settings import (
    KEY_SETTINGS,
    ModelChoice,
    load_stored_keys,
    make_settings,
    store_key,
    usable_keyring,
)
from dataagent_core.config import Settings
from dataagent_core.config.private_files import write_private
from dataagent_core.config.settings import environment, read_config, variables
from dataagent_core.errors import BadInput, DataAgentError, Misconfigured

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.streams import Streams


_TITLE = (
    "# Settings of DataAgent. The environment takes precedence. `dataagent init` changes this.\n"
)
Value = str | bool | None
"""None removes the setting from the file."""


def change_config(path: Path, values: Mapping[str, Value]) -> None:
    """Set these values in a file and leave its other lines unchanged.

    Raises:
        Misconfigured: the file is not TOML, or cannot be changed line by line.
        OSError: it cannot be written; it is unchanged then.
    """
    earlier = read_config(path)
    text = path.read_text(encoding="utf-8") if path.exists() else _TITLE
    changed = _set_values(text, values)
    expected = {name: value for name, value in earlier.items() if name not in values}
    expected |= {name: value for name, value in values.items() if value is not None}
    try:
        is_right = tomllib.loads(changed) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise Misconfigured(
            f"The file {path} is written in a way that cannot be changed for you.",
            details={"hint": f"set {', '.join(values)} in it by hand."},
        )
    write_private(path, changed)


def _set_values(text: str, values: Mapping[str, Value]) -> str:
    """The text with lines for these values, before the first table."""
    lines = text.splitlines(keepends=True)
    names = "|".join(map(re.escape, values))
    first_table = next((n for n, line in enumerate(lines) if line.startswith("[")), len(lines))
    kept = [line for line in lines[:first_table] if not re.match(rf"({names})\s*=", line)]
    if kept and not kept[-1].endswith("\n"):
        kept[-1] += "\n"
    new = [f"{name} = {_toml(value)}\n" for name, value in values.items() if value is not None]
    return "".join([*kept, *new, *lines[first_table:]])


def _toml(value: str | bool) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


_KEY = re.compile(r"[\x21-\x7e]{1,4096}")
_UNCHANGED = "Nothing was changed."


async def init(options: CliOptions, streams: Streams) -> int:
    """Choose, check and store; the exit status.

    Raises:
        DataAgentError: the options are invalid, or the model does not answer.
        OSError: the data directory cannot be written to.
    """
    settings = make_settings(home=options.home) if options.home else make_settings()
    is_asking = options.model is None
    if is_asking and not streams.is_interactive:
        raise BadInput(
            "There is no terminal to ask which model to use.",
            details={"hint": "name it: dataagent init --model NAME --key-from VARIABLE"},
        )
    try:
        if is_asking:
            streams.say(_current_setup(settings))
            choice = await _ask_for_choice(settings, streams)
        else:
            choice = _choice_from_options(options, streams)
        _check(choice)
        if not options.is_unchecked and not await _is_accepted(
            choice, settings, streams, is_asking
        ):
            streams.say(_UNCHANGED)
            return exit_codes.FAILED
    except (KeyboardInterrupt, EOFError):
        streams.say(_UNCHANGED)
        return exit_codes.INTERRUPTED
    _store(choice, settings, streams)
    return exit_codes.OK


# -- the present and the new choice -------------------------------------------------------------


def _current_setup(settings: Settings) -> str:
    """The present model and keys, and where they are stored."""
    path = settings.config_path
    where = str(path) if path.exists() else f"{path} (does not exist yet)"
    lines = [f"configuration  {where}", f"model          {settings.default_model}"]
    in_ring = load_stored_keys(settings)
    for name in sorted(set(KEY_SETTINGS.values())):
        if name in in_ring:
            lines.append(f"{name}  in the system's keyring")
        elif (secret := getattr(settings, name)) is not None:
            lines.append(f"{name}  …{secret.get_secret_value()[-4:]}")
    return "\n".join(lines)


async def _ask_for_choice(settings: Settings, streams: Streams) -> ModelChoice:
    from dataagent_cli.setup.questions import ask_for_model

    return await ask_for_model(streams, present=settings.default_model)


def _choice_from_options(options: CliOptions, streams: Streams) -> ModelChoice:
    """The choice of the command line."""
    source = options.key_from
    key: str | None = None
    if source == "-":
        if streams.piped is None:
            raise BadInput("--key-from - reads the key from the input; pipe it in.")
        key = streams.piped.readline(8192).decode(errors="replace").strip()
    elif source is not None:
        key = environment().get(source)
        if key is None:
            raise BadInput(
                f"There is no variable {source!r} in the environment to take the key from.",
                details={"hint": "name the variable, not the key; or pipe the key in with -."},
            )
    return ModelChoice(options.model or "", options.url, key)


def _check(choice: ModelChoice) -> None:
    """Reject an invalid choice before the model is asked.

    Raises:
        BadInput: the key or the address cannot be right.
    """
    if choice.key is not None and not _KEY.fullmatch(choice.key):
        raise BadInput("This is not a key: it is empty, or contains spaces or unusual characters.")
    if choice.key is not None and choice.key_setting is None:
        raise BadInput(
            f"The key of {choice.model!r} cannot be stored here.",
            details={"hint": "its provider's package reads it from the environment."},
        )
    if choice.url is None:
        return
    if not choice.url.startswith(("http://", "https://")):
        raise BadInput(f"The address {choice.url!r} must begin with http:// or https://.")
    if choice.key_setting != "openai_api_key":
        raise BadInput(f"An address goes with models named openai:NAME, not with {choice.model!r}.")


# -- checking and storing -----------------------------------------------------------------------


async def _is_accepted(
    choice: ModelChoice, settings: Settings, streams: Streams, is_asking: bool
) -> bool:
    """Whether the model answers, or the user wants it anyway."""
    streams.say(f"checking {choice.model} …")
    try:
        await try_model(_trial_settings(choice, settings))
    except DataAgentError as error:
        streams.say(explain(error).text)
        if not is_asking:
            streams.say("hint: --no-check stores it anyway.")
            return False
        from dataagent_cli.setup.questions import ask_yes_no

        return await ask_yes_no(streams, "Store it anyway?")
    streams.say("it needs no network" if choice.model in NO_NETWORK else "it answers")
    return True


def _trial_settings(choice: ModelChoice, settings: Settings) -> Settings:
    """The choice over the environment, without the file, whose key belongs to an old address."""
    given: dict[str, Any] = {k: v for k, v in choice.settings().items() if v is not None}
    given["home"] = settings.home_dir / "nowhere"
    return make_settings(**given)


def _store(choice: ModelChoice, settings: Settings, streams: Streams) -> None:
    values: dict[str, Value] = {**choice.settings()}
    is_in_ring = False
    if choice.key_setting is not None:
        is_in_ring = store_key(choice.key_setting, choice.key, usable_keyring())
        if is_in_ring:
            values |= {choice.key_setting: None, "keyring": True}
    change_config(settings.config_path, values)
    streams.say(f"stored in {settings.config_path}")
    if choice.key is not None:
        streams.say("the key is in " + ("the system's keyring" if is_in_ring else "the same file"))
    known = environment()
    for name, value in choice.settings().items():
        for variable in variables(Settings, name):
            if known.get(variable, value) != value:
                streams.say(f"note: {variable} is set in the environment and takes precedence")
