"""One question to the bare agent, as a whole process: `python -m bench.m_bare_question QUESTION`.

What a first program looks like: import deepagents, build an agent, ask, print. The model is ours,
so that it plays the same script as in `dataagent -p`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import asyncio
import sys
from typing import Any

from deepagents import create_deep_agent

from dataagent_core.models.scripted import ScriptedChatModel


async def main(question: str) -> None:
    """Ask and print."""
    agent: Any = create_deep_agent(model=ScriptedChatModel())
    answer = await agent.ainvoke({"messages": [{"role": "user", "content": question}]})
    sys.stdout.write(f"{answer['messages'][-1].text}\n")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
