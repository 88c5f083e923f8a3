"""Whether edited arguments fit the call they are for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from dataagent_protocol.errors import BadDecision
from dataagent_protocol.hitl import ActionRequest


def check_arguments(action: ActionRequest, args: Mapping[str, object]) -> None:
    """Refuse arguments that do not fit the schema of a call; without one, any do.

    Raises:
        BadDecision: they do not; says why.
    """
    if action.args_schema is None:
        return
    import jsonschema_rs  # loaded for the first edit

    try:
        jsonschema_rs.validate(action.args_schema, args, retriever=_nothing_else)
    except jsonschema_rs.ValidationError as error:
        raise BadDecision(
            f"The edited arguments do not fit {action.name!r}: {error.message}"
        ) from error
    except (ValueError, RuntimeError):  # a schema that cannot be used: the tool itself will check
        return


def _nothing_else(uri: str) -> NoReturn:
    """A schema may come from a third party: its references are not fetched."""
    raise ValueError(f"{uri[:80]!r} is not looked up")
