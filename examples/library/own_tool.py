"""A tool of your own, which asks before it is called."""

import asyncio

from langchain_core.tools import tool

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.events import HITLRequestEvent, TextEvent, ToolResultEvent
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel
from dataagent_core.workspace import run_context


@tool
def book_room(room: str, day: str) -> str:
    """Book a meeting room for the user."""
    return f"{room} is booked on {day} for {run_context().user_id}."


book_room.metadata = {"approval": "Book a room, which others then cannot have."}


async def main() -> None:
    call = Call("book_room", {"room": "Blue", "day": "Monday"})
    config = AgentConfig(
        assistant_id="office",
        user_id="ann",
        model=ScriptedChatModel([[call], "The blue room is yours on Monday."]),
        extra_tools=[book_room],
    )
    async with AgentFactory() as factory:
        agent, _ = factory.create_agent(config)
        async for event in AgentExecutor(agent).execute("A room on Monday, please.", "session-1"):
            match event:
                case HITLRequestEvent():  # with no handler, all are approved
                    print(event.action.description)
                case ToolResultEvent():
                    print(event.result)
                case TextEvent():
                    print(event.content, end="")
                case _:
                    pass
        print()


asyncio.run(main())
