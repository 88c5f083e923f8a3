"""The first turn: an agent, and its answer as events."""

import asyncio

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.events import TextEvent


async def main() -> None:
    async with AgentFactory() as factory:
        # model="openai:gpt-5-mini" names a model; without it and without a key, `offline` answers
        agent, _ = factory.create_agent(AgentConfig(assistant_id="helper"))
        async for event in AgentExecutor(agent).execute("hello", "session-1"):
            if isinstance(event, TextEvent):
                print(event.content, end="")
        print()


asyncio.run(main())
