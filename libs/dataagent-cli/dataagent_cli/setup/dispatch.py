"""From parsed words to the command that does them. They work where nothing else does.

No log, no core and no settings are needed to get here: what is wrong with those is what some of
these commands are asked for. Above: `main.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.streams import Streams


async def dispatch_setup(options: CliOptions, streams: Streams) -> int:
    """Do what was asked for; the exit status.

    Raises:
        DataAgentError: it was refused, or failed.
        OSError: the data directory cannot be used.
    """
    if options.command == "completion":
        from dataagent_cli.setup.completion import script

        streams.write(script(options.shell).encode())
        return 0
    if options.command == "init":
        from dataagent_cli.setup.init import init

        return await init(options, streams)
    from dataagent_cli.setup.doctor import doctor

    return await doctor(options, streams)
