"""The way out after an error: one sentence by error code. Pure data."""

from __future__ import annotations

_HINTS = {
    "model_unavailable": "check the network, or choose another model with --model.",
    "model_refused": "check the provider's key and the model's name (--model NAME).",
    "misconfigured": "dataagent init chooses the model; dataagent doctor looks at everything.",
    "session_busy": "wait for the other answer, or leave out --resume to start anew.",
    "session_not_found": "leave out --resume to start a new conversation.",
    "agent_not_found": "leave out --agent to ask the default agent.",
    "storage_unavailable": "check DATAAGENT_DATABASE_URL, or choose a data directory with --home.",
    "source_not_found": "dataagent sources lists them.",
    "source_unavailable": "check the source's address and that it answers.",
    "unknown_name": "dataagent schema shows the tables and columns.",
    "query_timed_out": "ask for less, or raise the source's time limit.",
    "artifact_not_found": "dataagent export last takes the newest result.",
    "quota_exceeded": "delete files of the workspace, or raise DATAAGENT_WORKSPACE_QUOTA.",
}


def hint_for(error_code: str, *, is_recoverable: bool) -> str | None:
    """What to try next, or None when the error's own message is all there is to say."""
    known = _HINTS.get(error_code)
    if is_recoverable:
        return f"{known} Then ask again." if known else "this may pass: ask again."
    return known
