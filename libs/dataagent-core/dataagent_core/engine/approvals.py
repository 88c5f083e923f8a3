"""LangGraph interrupts ↔ our requests and decisions. Pure functions."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt

from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType


def request_of(interrupt: Interrupt) -> ActionRequest:
    """What a person is asked. Interrupts that are not tool approvals show their value as arguments."""
    value: Any = interrupt.value
    match value:
        case {"type": "tool_approval", "name": str(name), "args": dict(args)}:
            description = str(value.get("description", ""))  # pyright: ignore[reportUnknownMemberType] LangChain's ToolApprovalRequest
            return ActionRequest(name, args, description, interrupt.id, _args_schema(interrupt))  # pyright: ignore[reportUnknownArgumentType] JSON arguments
        case _:
            return ActionRequest("input", {"value": value}, "The agent asks.", interrupt.id)


def allowed_decisions(interrupt: Interrupt) -> tuple[DecisionType, ...]:
    """Which answers the interrupt takes: the ones its schema names, all if it names none."""
    mapping: Any = (_schema(interrupt).get("discriminator") or {}).get("mapping") or {}
    named = tuple(kind for kind in ALL_DECISIONS if kind in mapping)
    return named or ALL_DECISIONS


def resume_value(decision: Decision) -> dict[str, Any]:
    """The decision in the form LangChain's middleware expects."""
    return decision.to_dict()


def _schema(interrupt: Interrupt) -> dict[str, Any]:
    schema: Any = interrupt.response_schema
    return schema if isinstance(schema, dict) else {}  # pyright: ignore[reportUnknownVariableType] JSON schema


def _args_schema(interrupt: Interrupt) -> dict[str, Any] | None:
    """The JSON schema of the tool's arguments, for those who edit them, or None."""
    schema = _schema(interrupt)
    definitions: Any = schema.get("$defs") or {}
    arguments: Any = (definitions.get("EditedAction") or {}).get("properties", {}).get("args")
    if not isinstance(arguments, dict):
        return None
    reference = str(arguments.get("$ref", ""))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType] JSON schema
    if reference.startswith("#/$defs/"):
        return {**definitions[reference.removeprefix("#/$defs/")], "$defs": definitions}
    return arguments  # pyright: ignore[reportUnknownVariableType] JSON schema
