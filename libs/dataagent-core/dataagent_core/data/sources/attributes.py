"""What is known of a user that a row filter may ask for: `:user.region` and the like.

An administrator sets them; users do not set their own. Above: the admin API and `data/service.py`,
which puts them into a `Reader`. Below: `storage/`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from sqlalchemy import Connection, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.sources.checks import validate_json
from dataagent_core.errors import BadInput, NotFound
from dataagent_core.storage import Database
from dataagent_core.storage.tables import user_attributes
from dataagent_core.storage.text import is_storable

AttributeValue = str | int | float | bool | list[str | int | float | bool]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MOST_VALUES = 1000

_OF_USER = select(user_attributes).where(user_attributes.c.user_id == bindparam("of_user"))
_ONE = (user_attributes.c.user_id == bindparam("of_user")) & (
    user_attributes.c.name == bindparam("wanted")
)
_UPDATE = update(user_attributes).where(_ONE).values(value=bindparam("to"))
_DELETE = delete(user_attributes).where(_ONE)
_DELETE_ALL = delete(user_attributes).where(user_attributes.c.user_id == bindparam("of_user"))


class AttributeStore:
    """Attributes by user."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def get(self, user_id: str) -> dict[str, AttributeValue]:
        """All attributes of a user; empty if none was ever set."""
        if not is_storable(user_id):
            return {}
        rows = await self._db.read(lambda c: list(c.execute(_OF_USER, {"of_user": user_id})))
        return {row.name: row.value for row in sorted(rows, key=lambda row: row.name)}

    async def set(self, user_id: str, values: Mapping[str, AttributeValue]) -> None:
        """Set some attributes of a user, leaving the others as they are.

        Raises:
            BadInput: a name is no plain word, or a value is neither plain nor a list of such.
        """
        await self._put(user_id, values, is_all=False)

    async def replace(self, user_id: str, values: Mapping[str, AttributeValue]) -> None:
        """Set all attributes of a user; those not named are forgotten.

        Raises:
            BadInput: as `set`.
        """
        await self._put(user_id, values, is_all=True)

    async def _put(
        self, user_id: str, values: Mapping[str, AttributeValue], *, is_all: bool
    ) -> None:
        if not user_id or len(user_id) > 64 or not is_storable(user_id):
            raise BadInput("A user's id has 1 to 64 storable characters.")
        rows = [
            {"user_id": user_id, "name": _checked_name(name), "value": _checked_value(name, value)}
            for name, value in values.items()
        ]

        def unit(connection: Connection) -> None:
            if is_all:
                connection.execute(_DELETE_ALL, {"of_user": user_id})
            for row in rows:
                values = {"of_user": user_id, "wanted": row["name"], "to": row["value"]}
                if not connection.execute(_UPDATE, values).rowcount:
                    connection.execute(insert(user_attributes), row)

        try:
            await self._db.write(unit)
        except IntegrityError:  # someone set the same one for the first time; now it is there
            await self._db.write(unit)

    async def delete(self, user_id: str, name: str) -> None:
        """Forget one attribute of a user.

        Raises:
            NotFound: the user has none of that name.
        """
        values = {"of_user": user_id, "wanted": name}
        if not await self._db.write(
            lambda connection: connection.execute(_DELETE, values).rowcount
        ):
            raise NotFound(f"The user has no attribute {name[:80]!r}.")

    async def clear(self, user_id: str) -> None:
        """Forget all attributes of a user who is gone."""
        await self._db.write(lambda c: c.execute(_DELETE_ALL, {"of_user": user_id}).rowcount)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"The attribute name {name[:80]!r} does not do: letters, digits and '_', at most 64, "
            "not starting with a digit."
        )
    return name


def _checked_value(name: str, value: object) -> Any:
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    if len(values) > _MOST_VALUES or not all(isinstance(one, str | int | float) for one in values):
        raise BadInput(
            f"The attribute {name!r} must be text, a number, true, false, or a list of at most "
            f"{_MOST_VALUES} of them."
        )
    return validate_json(value, f"The attribute {name!r}")
