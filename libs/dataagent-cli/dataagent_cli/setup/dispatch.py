"""Runs the set-up commands; they need no log, core or settings, which may be what is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataagent_cli.arguments import CliOptions
    from dataagent_cli.streams import Streams


async def dispatch_setup(options: CliOptions, streams: Streams) -> int:
    """Run the command and return its exit status.

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
