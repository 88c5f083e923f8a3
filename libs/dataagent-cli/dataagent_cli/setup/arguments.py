"""The words of the commands that make the program ready. Only argparse is imported.

Above: `arguments.py`. What the words lead to is in `setup/dispatch.py`.
"""

from __future__ import annotations

import argparse

from dataagent_cli.data.arguments import add_command

TYPE_CHECKING = False  # typing's, without the time it takes to load typing
if TYPE_CHECKING:
    from dataagent_cli.data.arguments import Commands

SETUP_COMMANDS = ("init", "doctor", "completion")
SHELLS = ("bash", "zsh", "fish")
_INIT_EXAMPLES = """\
examples:
  dataagent init                                            asks for everything
  dataagent init --model offline                            no network, no key
  dataagent init --model anthropic:claude-sonnet-4-5 --key-from MY_KEY
  pass show openai | dataagent init --model openai:gpt-5-mini --key-from -
  dataagent init --model openai:qwen3 --url http://localhost:11434/v1

The settings go to config.toml in the data directory, the key to the system's keyring if there is
one, else to the same file, which only you can read. The environment counts more than the file.
"""
_COMPLETION_EXAMPLES = """\
to use it:
  bash  echo 'eval "$(dataagent completion bash)"' >> ~/.bashrc
  zsh   echo 'eval "$(dataagent completion zsh)"' >> ~/.zshrc   (after compinit)
  fish  dataagent completion fish > ~/.config/fish/completions/dataagent.fish
"""


class SetupOptions(argparse.Namespace):
    """What was asked for. Which of them exist depends on the command."""

    url: str | None
    key_from: str | None
    is_unchecked: bool
    as_json: bool
    shell: str


def add_setup_commands(commands: Commands) -> None:
    """Add the commands to the program's."""
    init = add_command(commands, "init", "choose the model and store its key", _INIT_EXAMPLES)
    init.add_argument(
        "--model", metavar="NAME", default=argparse.SUPPRESS, help="such as openai:gpt-5-mini"
    )
    init.add_argument("--url", metavar="URL", help="of a server that speaks OpenAI's protocol")
    init.add_argument(
        "--key-from", metavar="NAME", help="variable that holds the key; - reads it from the input"
    )
    init.add_argument(
        "--no-check",
        dest="is_unchecked",
        action="store_true",
        help="store it without asking the model first",
    )
    doctor = add_command(commands, "doctor", "look at everything the program needs")
    doctor.add_argument("--json", dest="as_json", action="store_true", help="one finding a line")
    completion = add_command(
        commands, "completion", "print a script that completes words by Tab", _COMPLETION_EXAMPLES
    )
    completion.add_argument("shell", metavar="SHELL", choices=SHELLS, help="bash, zsh or fish")
