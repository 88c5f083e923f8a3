"""Templates of MCP server programs: an administrator fixes the command, users fill parameters.

`{name}` stands for a parameter in arguments and environment. A value stays inside its argument,
cannot begin an option, and a secret one goes into the environment only.
"""

from __future__ import annotations

import builtins
import logging
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypedDict
from uuid import uuid4

import jsonschema_rs
from pydantic import SecretStr
from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.errors import BadInput, Conflict, NotFound
from dataagent_core.mcp.changes import count_up, hold
from dataagent_core.mcp.servers.registration import MAX_NAME, check_name
from dataagent_core.storage import Database, Unit
from dataagent_core.storage.agent_tables import mcp_templates
from dataagent_core.storage.database import is_storable

logger = logging.getLogger(__name__)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u0080-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_LONGEST_VALUE = 2048
_MOST_PARAMETERS = 20
_MOST_TEXT = 4096


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that users fill in."""

    name: str
    description: str = ""
    is_secret: bool = False
    is_required: bool = True
    pattern: str | None = None
    """A regular expression that a whole value must match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTemplate:
    """A template to store."""

    name: str
    description: str = ""
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: tuple[Parameter, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template(NewTemplate):
    """A stored template."""

    template_id: str


class FilledTemplate(TypedDict):
    """A template with its parameters filled in."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, SecretStr]


def fill(template: NewTemplate, values: Mapping[str, str]) -> FilledTemplate:
    """Fill a template with a user's values.

    Raises:
        BadInput: a value is missing, not asked for, or does not do; no secret is shown.
    """
    known = {parameter.name: parameter for parameter in template.parameters}
    unknown = sorted(values.keys() - known.keys())
    if unknown:
        raise BadInput(f"Template {template.name!r} has no parameter {unknown[0][:64]!r}.")
    for parameter in template.parameters:
        _check_value(parameter, values.get(parameter.name, ""))
    args = (_substitute(text, values) for text in template.args)
    env = {name: _substitute(text, values) for name, text in template.env.items()}
    return FilledTemplate(
        command=template.command,
        args=tuple(text for text in args if text is not None),
        env={name: SecretStr(text) for name, text in env.items() if text is not None},
    )


def check_template(new: NewTemplate) -> None:
    """Check that a template can be filled in safely.

    Raises:
        BadInput: it cannot; the message says why.
    """
    check_name(new.name)
    _check_texts(new)
    if len(new.parameters) > _MOST_PARAMETERS:
        raise BadInput(f"A template has at most {_MOST_PARAMETERS} parameters.")
    for parameter in new.parameters:
        _check_parameter(parameter)
    names = [parameter.name for parameter in new.parameters]
    if len({*names}) != len(names):
        raise BadInput("Two parameters have one name.")
    in_args = {name for text in new.args for name in _PLACEHOLDER.findall(text)}
    in_env = {name for text in new.env.values() for name in _PLACEHOLDER.findall(text)}
    if _PLACEHOLDER.search(new.command):
        raise BadInput("The command is fixed: it has no place for a parameter.")
    if undeclared := sorted((in_args | in_env) - {*names}):
        raise BadInput(f"Declare the parameter {undeclared[0]!r}, or take its place out.")
    if unused := sorted({*names} - in_args - in_env):
        raise BadInput(f"The parameter {unused[0]!r} has no place.")
    if shown := sorted(p.name for p in new.parameters if p.is_secret and p.name in in_args):
        raise BadInput(f"The secret {shown[0]!r} belongs into env: everyone can see arguments.")


def _check_texts(new: NewTemplate) -> None:
    texts = [new.command, *new.args, *new.env, *new.env.values()]
    if not new.command.strip() or any(_CONTROL.search(t) or len(t) > _MOST_TEXT for t in texts):
        raise BadInput("The command or a text is empty, too long or has invisible characters.")
    if len(new.description) > _MOST_TEXT or not is_storable(new.description):
        raise BadInput("The description is too long or cannot be kept.")


def _check_parameter(parameter: Parameter) -> None:
    if not _PARAMETER.fullmatch(parameter.name):
        raise BadInput("A parameter's name has 1 to 64 letters, digits or '_'.")
    if len(parameter.description) > _MOST_TEXT or not is_storable(parameter.description):
        raise BadInput("A parameter's description is too long or cannot be kept.")
    if parameter.pattern is not None:
        _matcher(parameter)


def _matcher(parameter: Parameter) -> jsonschema_rs.Validator:
    """Compile a pattern to a matcher that runs in linear time, as values are users'."""
    schema = {"type": "string", "pattern": f"^(?:{parameter.pattern})$"}
    try:
        return jsonschema_rs.validator_for(schema, pattern_options=jsonschema_rs.RegexOptions())
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise BadInput(
            f"The pattern of {parameter.name!r} is not a regular expression that can be used "
            "(without looking around)."
        ) from error


def _check_value(parameter: Parameter, value: str) -> None:
    """Check a parameter's value; messages never contain it."""
    named = f"The parameter {parameter.name!r}"
    if not value:
        if parameter.is_required:
            raise BadInput(f"{named} is missing.")
        return
    if len(value) > _LONGEST_VALUE or _CONTROL.search(value) or not is_storable(value):
        raise BadInput(f"{named} is too long or has invisible characters.")
    if not parameter.is_secret and value.startswith("-"):
        raise BadInput(f"{named} begins with '-', as options do.")
    if parameter.pattern is not None and not _matcher(parameter).is_valid(value):
        raise BadInput(f"{named} does not match {parameter.pattern[:200]!r}.")


def _substitute(text: str, values: Mapping[str, str]) -> str | None:
    """Fill in a text; None if it is a single parameter that was left empty."""
    filled = _PLACEHOLDER.sub(lambda place: values.get(place[1], ""), text)
    return filled if filled or not _PLACEHOLDER.fullmatch(text) else None


# -- keeping them ---------------------------------------------------------------------------------


class TemplateStore:
    """The templates of an installation."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def list(self) -> builtins.list[Template]:
        """Return all templates, by name."""
        found = await self._db.read(lambda c: c.execute(select(mcp_templates)).all())
        return sorted((_template(row) for row in found), key=lambda each: each.name)

    async def get(self, id_or_name: str) -> Template:
        """Return the template with the id or name.

        Raises:
            NotFound: there is none.
        """
        if not id_or_name or len(id_or_name) > MAX_NAME or not is_storable(id_or_name):
            raise _template_not_found(id_or_name)
        row = await self._db.read(lambda c: _find(c, id_or_name))
        if row is None:
            raise _template_not_found(id_or_name)
        return _template(row)

    async def create(self, new: NewTemplate, *, by: str) -> Template:
        """Store a template.

        Raises:
            BadInput: it cannot be filled in without harm.
            Conflict: the name is taken.
        """
        check_template(new)
        at = datetime.now(UTC)
        template_id = uuid4().hex
        made = {"template_id": template_id, "version": 1, "created_by": by, "created_at": at}
        row = {**made, **_columns(new), "updated_at": at}
        await self._unique(lambda c: c.execute(insert(mcp_templates), row), new.name)
        return await self.get(template_id)

    async def update(self, template_id: str, new: NewTemplate, *, by: str) -> Template:
        """Replace a template.

        Servers that were made of the one before are off until someone fills it in anew, unless it
        starts the same.

        Raises:
            NotFound: there is none.
            BadInput, Conflict: as `create`.
        """
        check_template(new)

        def unit(connection: Connection) -> None:
            hold(connection)
            row = _find(connection, template_id)
            if row is None:
                raise _template_not_found(template_id)
            is_same = _program(_template(row)) == _program(new)
            version = row.version if is_same else row.version + 1
            values = {**_columns(new), "version": version, "updated_at": datetime.now(UTC)}
            is_it = mcp_templates.c.template_id == row.template_id
            connection.execute(update(mcp_templates).where(is_it).values(values))
            count_up(connection)

        await self._unique(unit, new.name)
        logger.info("MCP template %s was changed by %s", template_id, by)
        return await self.get(template_id)

    async def delete(self, template_id: str) -> None:
        """Delete a template, which disables the servers filled from it.

        Raises:
            NotFound: there is none.
        """

        def unit(connection: Connection) -> None:
            hold(connection)
            row = _find(connection, template_id)
            if row is None:
                raise _template_not_found(template_id)
            is_it = mcp_templates.c.template_id == row.template_id
            connection.execute(delete(mcp_templates).where(is_it))
            count_up(connection)

        await self._db.write(unit)

    async def _unique(self, unit: Unit[Any], name: str) -> None:
        try:
            await self._db.write(unit)
        except IntegrityError:
            raise Conflict(f"There is a template {name!r} already. Choose another name.") from None


def _template_not_found(wanted: str) -> NotFound:
    return NotFound(f"There is no MCP template {wanted[:80]!r}. List them to see those there are.")


def _find(connection: Connection, id_or_name: str) -> Row[Any] | None:
    for column in (mcp_templates.c.template_id, mcp_templates.c.name):
        row = connection.execute(select(mcp_templates).where(column == id_or_name)).first()
        if row is not None:
            return row
    return None


def _program(template: NewTemplate) -> tuple[object, ...]:
    return (template.command, template.args, dict(template.env), template.parameters)


def _columns(new: NewTemplate) -> dict[str, Any]:
    return {
        "name": new.name,
        "description": new.description,
        "command": new.command,
        "args": list(new.args),
        "env": dict(new.env),
        "parameters": [asdict(parameter) for parameter in new.parameters],
    }


def _template(row: Row[Any]) -> Template:
    return Template(
        template_id=row.template_id,
        name=row.name,
        description=row.description,
        command=row.command,
        args=tuple(row.args),
        env=row.env,
        parameters=tuple(Parameter(**each) for each in row.parameters),
    )
