"""Approvals in a script: a rule says yes to reports and no to everything else."""

import asyncio

from dataagent_core.engine import AgentConfig, AgentExecutor, AgentFactory
from dataagent_core.events import DoneEvent, FileOperationEvent
from dataagent_core.hitl import ActionRequest, Decision
from dataagent_core.models.rule_based import Call
from dataagent_core.models.scripted import ScriptedChatModel


class OnlyReports:
    """Answers in place of a person."""

    async def request_approval(self, action_request: ActionRequest, session_id: str) -> Decision:
        path = str(action_request.args.get("file_path", ""))
        if action_request.name == "write_file" and path.startswith("/outputs/"):
            return Decision(type="approve")
        return Decision(type="reject", message="Only reports may be written.")


async def write(factory: AgentFactory, path: str) -> None:
    # the model's part, played so that this program always does the same; use yours instead
    model = ScriptedChatModel([[Call("write_file", {"file_path": path, "content": "42"})], "Done."])
    agent, _ = factory.create_agent(AgentConfig(assistant_id="helper", model=model))
    executor = AgentExecutor(agent, hitl_handler=OnlyReports())
    async for event in executor.execute("Write it down.", path):
        match event:
            case FileOperationEvent():
                print(f"{event.operation} {event.file_path}: +{event.metrics['lines_added']}")
            case DoneEvent():
                print(f"{path}: {event.reason}")
            case _:
                pass


async def main() -> None:
    async with AgentFactory() as factory:
        await write(factory, "/outputs/report.md")
        await write(factory, "/files/secret.md")


asyncio.run(main())
