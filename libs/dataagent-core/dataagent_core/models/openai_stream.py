"""Decodes what an OpenAI-compatible server streams: bytes in, chunks out, without I/O.

The data of server-sent events is read from the bytes; `AnswerDecoder` gives what each read brought
as one chunk, and `AnswerReader` adds up the events in it. Quirks of servers are handled here:
repeated or missing call indexes, names repeated in each delta, usage sent more than once, errors in
the stream.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

import orjson
from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata
from langchain_core.outputs import ChatGenerationChunk

from dataagent_core.errors import DataAgentError, ModelRefused, ModelUnavailable
from dataagent_core.models.chunks import Piece, ToolCallDelta, answer_chunk
from dataagent_core.models.failures import presentable, refusal


class EventParser:
    """Cuts a server-sent event stream into the payloads of its events."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []  # of a line that has not ended
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> list[bytes]:
        """The payloads that are complete with these bytes."""
        *ended, rest = received.split(b"\n")
        if not ended:  # joined once, however many reads a line takes
            self._rest.append(rest)
            return []
        ended[0] = b"".join([*self._rest, ended[0]])
        self._rest = [rest]
        return self._payloads(ended)

    def finish(self) -> list[bytes]:
        """What is left when the stream ends without an empty line."""
        lines, self._rest = [b"".join(self._rest), b""], []
        return self._payloads(lines)

    def _payloads(self, lines: Iterable[bytes]) -> list[bytes]:
        payloads: list[bytes] = []
        for raw in lines:
            line = raw.removesuffix(b"\r")
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                payloads.append(b"\n".join(self._data))
                self._data.clear()
        return payloads


DONE: Final = b"[DONE]"
Json = dict[str, Any]
"""An object a server sent; it is read here and goes no further."""

_UNAVAILABLE: Final = ("server", "overloaded", "rate_limit", "timeout", "unavailable", "internal")


class AnswerDecoder:
    """Bytes in, chunks out: an event stream, or one JSON document from a server that cannot."""

    def __init__(self) -> None:
        self.is_done = False
        self._parser = EventParser()
        self._answer = AnswerReader()
        self._document: bytearray | None = None
        self._is_fresh = True
        self._failure: DataAgentError | None = None

    def feed(self, received: bytes) -> Piece | None:
        """All that these bytes complete, as one chunk; None if that is nothing."""
        if self._is_fresh and (first := received.lstrip()[:1]):  # empty lines may come before it
            self._is_fresh = False
            if first in (b"{", b"<"):
                self._document = bytearray()
        if self._document is not None:
            self._document += received
            return None
        return self._taken(self._parser.feed(received))

    def end(self) -> list[Piece]:
        """What is left at the end, and the chunk that ends the answer.

        Raises:
            ModelUnavailable: the stream broke off, is damaged, or reports a failure.
            ModelRefused: it reports a refusal, or is no answer of an OpenAI-compatible server.
        """
        if self._document is not None:
            self._answer.add(_read_document(bytes(self._document)))
            left = self._answer.take()
        else:
            left = None if self.is_done else self._taken(self._parser.finish())
            if self._failure is not None:
                raise self._failure
        if not (self.is_done or self._answer.is_finished or self._document):
            raise ModelUnavailable("The model's answer ended before it was complete.")
        return [left, self._answer.last()] if left else [self._answer.last()]

    def _taken(self, payloads: Iterable[bytes]) -> Piece | None:
        """Read events up to the end or a failure. What came before a failure is still said."""
        try:
            for payload in payloads:
                for event in decode(payload):
                    self._answer.add(event)
                if payload.endswith(DONE):
                    self.is_done = True
                    break
        except DataAgentError as failure:
            self._failure = failure
            self.is_done = True
        return self._answer.take()


def _read_document(document: bytes) -> Json:
    try:
        fields: Json = orjson.loads(document)
    except orjson.JSONDecodeError as error:
        raise ModelRefused(
            "The model's address answers with something that is not JSON. Check the provider's "
            "base URL (for OpenAI-compatible servers it usually ends in /v1)."
        ) from error
    if not ({"choices", "error", "object"} & fields.keys()):
        raise ModelRefused(
            f"The model answered in an unknown form: {presentable(document.decode())}"
        )
    return fields


def decode(payload: bytes) -> list[Json]:
    """The objects of one event; none in `[DONE]`, several where a server forgets empty lines.

    Raises:
        ModelUnavailable: it is not JSON, or no object.
    """
    try:
        events = [orjson.loads(payload)]
    except orjson.JSONDecodeError as whole:
        lines = [line for line in payload.split(b"\n") if line and line != DONE]
        try:
            events = [orjson.loads(line) for line in lines]
        except orjson.JSONDecodeError:
            raise ModelUnavailable("The model's answer is damaged: not JSON.") from whole
    for event in events:
        if not isinstance(event, dict):
            raise ModelUnavailable("The model's answer is damaged: JSON, but no object.")
    return events


class AnswerReader:
    """Reads one answer, payload by payload."""

    def __init__(self) -> None:
        self.is_finished = False
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._refusals: list[str] = []
        self._calls = _Calls()
        self._usage: UsageMetadata | None = None
        self._metadata: Json = {}

    def add(self, payload: Json) -> None:
        """Take in one payload: a delta, the whole answer, usage, or an error.

        Raises:
            ModelUnavailable, ModelRefused: the server reports an error instead of an answer.
        """
        error = payload.get("error") or (payload if payload.get("object") == "error" else None)
        if error:
            raise provider_error(error)
        if usage := payload.get("usage"):
            self._usage = read_usage(usage)
        for key, name in (("id", "id"), ("model", "model_name"), ("system_fingerprint",) * 2):
            if value := payload.get(key):
                self._metadata[name] = value
        for choice in payload.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._add_choice(choice)

    def take(self) -> Piece | None:
        """All that came since the last time as one piece; None if that is nothing."""
        text, thought = _drain(self._texts), _drain(self._thoughts)
        calls = self._calls.take()
        refused = _drain(self._refusals)
        if calls or refused:
            additional = {"refusal": refused} if refused else None
            return answer_chunk(text=text, reasoning=thought, calls=calls, additional=additional)
        return answer_chunk(text, reasoning=thought) if thought else text or None

    def last(self) -> ChatGenerationChunk:
        """The chunk that ends the answer: usage, why it ended, which model it was."""
        return answer_chunk(usage=self._usage, metadata=self._metadata, is_last=True)

    def _add_choice(self, choice: Json) -> None:
        if reason := choice.get("finish_reason"):
            self._metadata["finish_reason"] = reason
            self.is_finished = True
        delta: Json = choice.get("delta") or choice.get("message") or {}
        self._add_content(delta.get("content"))
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            self._thoughts.append(str(thought))
        if refused := delta.get("refusal"):
            self._refusals.append(refused)
        for call in delta.get("tool_calls") or ():
            self._calls.add(call)

    def _add_content(self, content: str | list[Json] | None) -> None:
        if isinstance(content, str):
            self._texts.append(content)
            return
        for block in content or ():
            text = block.get("text") or block.get("thinking")
            if isinstance(text, str):
                (self._texts if block.get("type") == "text" else self._thoughts).append(text)


class _Calls:
    """Tool calls as they grow. Each call gets an index of its own, whatever the server sends."""

    def __init__(self) -> None:
        self._slots: dict[int | None, tuple[int, str | None]] = {}
        self._count = 0
        self._parts: dict[int, ToolCallDelta] = {}

    def add(self, raw: Json) -> None:
        """Take in one delta of one call."""
        index: int | None = raw.get("index")
        call_id: str | None = raw.get("id") or None
        function: Json = raw.get("function") or {}
        slot, known_id = self._slots.get(index, (-1, None))
        is_new = slot < 0 or bool(call_id and known_id and call_id != known_id)
        if is_new:
            slot = self._count
            self._count += 1
        if is_new or (call_id and known_id is None):
            self._slots[index] = (slot, call_id)
        else:
            call_id = None
        part = ToolCallDelta(
            slot, call_id, function.get("name") if is_new else None, _text_of(function)
        )
        before = self._parts.get(slot)
        self._parts[slot] = part if before is None else _joined(before, part)

    def take(self) -> list[ToolCallDelta]:
        parts = list(self._parts.values())
        self._parts.clear()
        return parts


def _joined(first: ToolCallDelta, second: ToolCallDelta) -> ToolCallDelta:
    return ToolCallDelta(
        index=first.index,
        call_id=first.call_id or second.call_id,
        name=first.name or second.name,
        arguments=first.arguments + second.arguments,
    )


def _text_of(function: Json) -> str:
    """A call's arguments as text; some servers send the object itself."""
    arguments = function.get("arguments")
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return orjson.dumps(arguments).decode()


def _drain(parts: list[str]) -> str:
    text = "".join(parts)
    parts.clear()
    return text


def read_usage(usage: Json) -> UsageMetadata:
    """Token counts in LangChain's words, with what was cached and what was thought."""
    prompt: Json = usage.get("prompt_tokens_details") or {}
    completion: Json = usage.get("completion_tokens_details") or {}
    input_tokens = usage.get("prompt_tokens") or 0
    output_tokens = usage.get("completion_tokens") or 0
    total_tokens = usage.get("total_tokens")
    cached = prompt.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    written = prompt.get("cache_write_tokens")
    return UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens if total_tokens is None else total_tokens,
        input_token_details=cast(
            InputTokenDetails,  # a dict with a part of its keys
            _given(audio=prompt.get("audio_tokens"), cache_read=cached, cache_creation=written),
        ),
        output_token_details=cast(
            OutputTokenDetails,  # a dict with a part of its keys
            _given(
                audio=completion.get("audio_tokens"), reasoning=completion.get("reasoning_tokens")
            ),
        ),
    )


def _given(**counts: int | None) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count is not None}


def provider_error(error: object) -> DataAgentError:
    """Our error for an error object that came in place of an answer."""
    fields = cast(Json, error) if isinstance(error, dict) else {"message": str(error)}  # JSON
    said = f"{fields.get('message') or fields} {fields.get('code') or ''}".strip()
    code = str(fields.get("code") or fields.get("status") or "")
    status = int(code) if code.isdigit() else 0
    if status >= 400:
        return refusal(status, said)
    kind = f"{fields.get('type') or ''} {code}".lower()
    if not kind.strip() or any(word in kind for word in _UNAVAILABLE):
        return ModelUnavailable(f"The model broke off: {presentable(said)}")
    return refusal(400, said)
