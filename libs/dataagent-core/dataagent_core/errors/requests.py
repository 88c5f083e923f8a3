"""The caller sent something that cannot be understood."""

from __future__ import annotations

from dataagent_core.errors.families import Invalid


class BadInput(Invalid):
    """A value is out of its bounds or has characters that cannot be stored."""

    code = "bad_input"


class UnknownEvent(Invalid):
    """An event dictionary names no known `event_type`, or lacks a field."""

    code = "unknown_event"


class BadDecision(Invalid):
    """A decision is not among those the request allows, or its arguments do not fit."""

    code = "bad_decision"


class QueryRefused(Invalid):
    """A statement is not one plain query. `details` has `reason` (a code) and `hint`."""

    code = "query_refused"


class UnknownName(Invalid):
    """A statement names a table or column that is not there. `details["nearest"]` may help."""

    code = "unknown_name"


class BadChart(Invalid):
    """A chart's specification does not fit its table. `details["nearest"]` may help."""

    code = "bad_chart"


class BadFile(Invalid):
    """A file is of a kind that is not taken, or is not what its name says."""

    code = "bad_file"
