"""LangSmith tracing: what LangChain's tracer may send, and how it is closed.

`LANGSMITH_TRACING` turns it on. It gets one tree per run, whose root names the user, the session,
the run and the trace. Our own client sends it: without inputs and outputs unless
`DATAAGENT_TRACE_CONTENT`, with the class of an error instead of its text, and without secrets. The
settings override what the library reads from the environment.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

from dataagent_core.config import Settings
from dataagent_core.config.settings import environment
from dataagent_core.errors import Misconfigured
from dataagent_core.telemetry.logs import Scrubber, known_secrets
from dataagent_core.telemetry.spans import Errors, RunTrace, failure_kind

if TYPE_CHECKING:
    from langsmith import Client


async def finish_within(seconds: float, work: Callable[[], object]) -> bool:
    """Do blocking work beside the loop; whether it was done in time.

    A thread of its own, which the process does not wait for: one of the loop's would keep it alive.
    """
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def run() -> None:
        try:
            work()
        finally:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(done.set)

    Thread(target=run, name="last-traces", daemon=True).start()
    try:
        async with asyncio.timeout(seconds):
            await done.wait()
    except TimeoutError:
        return False
    return True


_OFF = ("", "0", "false")
_KIND = re.compile(r"\w+")
_FLUSH_SECONDS = 3.0
_CLOSE_SECONDS = 4.0
_TIMEOUT_MILLISECONDS = (3_000, 10_000)  # to connect, to answer
Anonymizer = Callable[[dict[str, Any]], dict[str, Any]]


class LangSmith:
    """Follows runs."""

    def __init__(self, client: Client, project: str) -> None:
        self._client = client
        self._project = project

    @contextmanager
    def run(self, run: RunTrace, trace_id: str, passing: Errors) -> Generator[RunTrace]:
        """The root of a run; what LangChain does in the block stands below it."""
        whose = {
            "user_id": run.user_id,
            "session_id": run.session_id,
            "run_id": run.run_id,
            "trace_id": trace_id or run.run_id,
            "agent": run.agent,
        }
        with self._root(run.name, {"message": run.message}, whose) as root:
            try:
                yield run
            except passing:
                root.end()
                raise
            except BaseException as error:
                root.end(error=failure_kind(error))
                raise
            root.end(outputs={"answer": run.answer}, error=run.failure)

    @contextmanager
    def _root(self, name: str, inputs: dict[str, str], whose: dict[str, str]) -> Generator[Any]:
        """A run of LangSmith's, and a tracer of ours for everything below it."""
        import langsmith
        from langchain_core.tracers.context import tracing_v2_callback_var

        from dataagent_core.telemetry.langsmith_tracer import RunTracer

        library: Any = langsmith  # LangSmith leaves parts open
        to: dict[str, Any] = {"client": self._client, "project_name": self._project}
        tracer = RunTracer(**to)
        token = tracing_v2_callback_var.set(tracer)
        try:
            with (
                library.tracing_context(enabled=True, parent=False, **to),
                library.trace(
                    name,
                    inputs=inputs,
                    metadata=whose,
                    exceptions_to_handle=(BaseException,),  # it would send their text
                    **to,
                ) as root,
            ):
                yield root
        finally:
            tracer.end_open()
            tracing_v2_callback_var.reset(token)

    async def aclose(self) -> None:
        """Send what is left. The library would wait for ever where its own thread has died."""
        await finish_within(_CLOSE_SECONDS, lambda: self._client.close(timeout=_FLUSH_SECONDS))


def open_langsmith(settings: Settings) -> LangSmith | None:
    """LangSmith if the settings want it.

    Raises:
        Misconfigured: its key is missing, or a variable is set that its library cannot bear.
    """
    if environment().get("LANGCHAIN_TRACING", "").lower() not in _OFF:
        raise Misconfigured(
            "LANGCHAIN_TRACING is a variable of an older LangChain: this one fails every run that "
            "finds it. Unset it, and set LANGSMITH_TRACING=true for traces."
        )
    if not settings.langsmith_tracing:
        return None
    if settings.langsmith_api_key is None:
        raise Misconfigured(
            "LANGSMITH_TRACING is on but there is no LANGSMITH_API_KEY. Set it, or set "
            "LANGSMITH_TRACING=false."
        )
    from langsmith import Client

    client = Client(
        settings.langsmith_endpoint,
        api_key=settings.langsmith_api_key.get_secret_value(),
        hide_inputs=not settings.trace_content,
        hide_outputs=not settings.trace_content,
        anonymizer=_anonymizer(settings),
        tracing_sampling_rate=settings.langsmith_tracing_sampling_rate,
        tracing_mode="langsmith",
        timeout_ms=_TIMEOUT_MILLISECONDS,
        disable_prompt_cache=True,
    )
    return LangSmith(client, settings.langsmith_project)


def _anonymizer(settings: Settings) -> Anonymizer:
    """What the client passes everything through: inputs, outputs, metadata, and errors alone."""
    scrubber = Scrubber(known_secrets(settings))

    def anonymized(given: dict[str, Any]) -> dict[str, Any]:
        if given.keys() == {"error"} and not settings.trace_content:
            kind = _KIND.match(str(given["error"]))  # it begins with the exception's name
            return {"error": kind[0] if kind else "error"}
        return scrubber.field("", given)

    return anonymized
