"""LangGraph interrupts ↔ our requests and decisions. Pure functions."""

from __future__ import annotations

from typing import Any

from langgraph.types import Interrupt

from dataagent_core.hitl import ALL_DECISIONS, ActionRequest, Decision, DecisionType

JsonObject = dict[str, Any]


def request_of(interrupt: Interrupt) -> ActionRequest:
    """What a person is asked. Other interrupts than tool approvals show their value."""
    value = _object(interrupt.value)
    if value.get("type") != "tool_approval":
        return ActionRequest("input", {"value": interrupt.value}, "The agent asks.", interrupt.id)
    return ActionRequest(
        name=value["name"],
        args=value["args"],
        description=value.get("description", ""),
        request_id=interrupt.id,
        args_schema=value.get("args_schema") or _args_schema(interrupt),
        diff=value.get("diff"),
    )


def allowed_decisions(interrupt: Interrupt) -> tuple[DecisionType, ...]:
    """Which answers the interrupt takes: the ones its schema names, all if it names none."""
    mapping = _object(_object(_schema(interrupt).get("discriminator")).get("mapping"))
    named: tuple[DecisionType, ...] = tuple(kind for kind in ALL_DECISIONS if kind in mapping)
    return named or ALL_DECISIONS


def resume_value(decision: Decision) -> JsonObject:
    """The decision in the form LangChain's middleware expects."""
    return decision.to_dict()


def _schema(interrupt: Interrupt) -> JsonObject:
    return _object(interrupt.response_schema)


def _args_schema(interrupt: Interrupt) -> JsonObject | None:
    """The JSON schema of the tool's arguments, for those who edit them, or None."""
    definitions = _object(_schema(interrupt).get("$defs"))
    edited = _object(definitions.get("EditedAction"))
    arguments = _object(_object(edited.get("properties")).get("args"))
    reference = str(arguments.get("$ref", ""))
    if reference.startswith("#/$defs/"):
        own = _object(definitions[reference.removeprefix("#/$defs/")])
        return {**own, **_shared(definitions)}
    return arguments or None


def _shared(definitions: JsonObject) -> JsonObject:
    """Definitions the arguments may refer to, without those of the decision itself."""
    own = {
        name: schema for name, schema in definitions.items() if not name.endswith(_DECISION_PARTS)
    }
    return {"$defs": own} if len(own) > 1 else {}


def _object(value: Any) -> JsonObject:
    """The value if it is a JSON object, else an empty one."""
    # JSON
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


_DECISION_PARTS = ("Decision", "EditedAction")
