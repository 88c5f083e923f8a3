"""The endpoint everyone writes: FastAPI, `create_deep_agent`, langchain-openai, InMemorySaver, SSE.

What a tutorial ends with, and what part a measures ours against. Everything is as the libraries
give it; it loses all threads when it ends, and has no users. Run by `a_turns.py`, or by hand:

    OPENAI_BASE_URL=… OPENAI_API_KEY=… uvicorn bench.a_yardstick:app
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

import json
from collections.abc import AsyncIterator
from typing import Any

from deepagents import create_deep_agent
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

app = FastAPI()
agent: Any = create_deep_agent(
    ChatOpenAI(model="stand-in"),
    system_prompt="You are a helpful assistant.",
    checkpointer=InMemorySaver(),
)


class ChatRequest(BaseModel):
    """One message of a thread."""

    thread_id: str
    message: str


async def events(request: ChatRequest) -> AsyncIterator[str]:
    """The answer as Server-Sent Events."""
    config = {"configurable": {"thread_id": request.thread_id}}
    messages = {"messages": [{"role": "user", "content": request.message}]}
    async for chunk, _ in agent.astream(messages, config, stream_mode="messages"):
        if chunk.content:
            yield f"data: {json.dumps({'type': chunk.type, 'content': chunk.content})}\n\n"
    yield "data: [DONE]\n\n"


@app.post("/chat")
async def chat(request: ChatRequest) -> StreamingResponse:
    """Answer a message."""
    return StreamingResponse(events(request), media_type="text/event-stream")
