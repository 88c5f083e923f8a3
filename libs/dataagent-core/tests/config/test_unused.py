"""Libraries stay whole for whoever uses the parts that are loaded late."""

from __future__ import annotations

import subprocess
import sys

import langgraph_sdk.client
import pytest

from dataagent_core.config.lazy_modules import install_lazy_modules

START = """
import sys
from concurrent.futures import ThreadPoolExecutor
from dataagent_core.config.lazy_modules import install_lazy_modules
install_lazy_modules()
import deepagents
"""


def said_after_the_start(code: str) -> str:
    """What a new process prints in which the agent's libraries were loaded."""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_the_agents_libraries_load_without_what_no_agent_uses() -> None:
    unused = ("httpx", "websockets", "langgraph_sdk._async", "langsmith.types.run")
    assert said_after_the_start(f"print([m for m in {unused!r} if m in sys.modules])") == "[]"


@pytest.mark.slow
def test_a_function_that_was_taken_early_works_when_it_is_called() -> None:
    code = """
from deepagents.middleware import async_subagents
made = async_subagents.get_client(url="http://localhost:1")
from langgraph_sdk.client import LangGraphClient
print(isinstance(made, LangGraphClient))
"""
    assert said_after_the_start(code) == "True"


@pytest.mark.slow
def test_all_of_a_module_is_there_for_whoever_asks() -> None:
    code = """
import langgraph_sdk
from langsmith.types import Run
print(langgraph_sdk.Auth.__name__, langgraph_sdk.get_client.__name__, Run.__name__)
try: langgraph_sdk.nothing_of_this_name
except AttributeError as error: print(error)
"""
    assert said_after_the_start(code).splitlines() == [
        "Auth get_client Run",
        "module 'langgraph_sdk' has no attribute 'nothing_of_this_name'",
    ]


@pytest.mark.slow
def test_threads_that_ask_together_get_the_same() -> None:
    code = """
from langsmith import types
with ThreadPoolExecutor(8) as pool:
    found = set(pool.map(lambda _: types.Run, range(64)))
print(len(found), types.Run in found)
"""
    assert said_after_the_start(code) == "1 True"


def test_what_is_loaded_already_stays() -> None:
    before = sys.modules["langgraph_sdk"], langgraph_sdk.client.LangGraphClient
    install_lazy_modules()
    assert before == (sys.modules["langgraph_sdk"], langgraph_sdk.client.LangGraphClient)
