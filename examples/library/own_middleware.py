"""A middleware of your own: it counts the calls of the model, and adds a rule to the prompt."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import SystemMessage

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.events import DoneEvent


class HouseStyle(AgentMiddleware[Any, Any, Any]):
    """Amounts are in euros here."""

    calls = 0

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        self.calls += 1
        prompt = SystemMessage(f"{request.system_prompt}\n\nSay amounts in euros.")
        return await handler(request.override(system_message=prompt))


async def main() -> None:
    style = HouseStyle()
    config = AgentConfig(assistant_id="helper", extra_middleware=[style])
    async with AgentFactory() as factory:
        agent, _ = factory.create_agent(config)
        executor = AgentExecutor(agent)
        for text in ("hello", "list files"):
            async for event in executor.execute(text, "session-1"):
                if isinstance(event, DoneEvent):
                    print(f"{text!r}: {event.reason}")
    print(f"{style.calls} calls of the model")


asyncio.run(main())
