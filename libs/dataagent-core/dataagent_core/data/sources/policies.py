"""The stores of each source's policies, and of the user attributes that row filters may use.

Policies are JSON here; `policy/rules.py` says what they mean. With every change the source's stored
catalogue loses the values that may no longer be stored, in the same transaction. Policies that the
configuration file defines are changed only there. Attributes (`:user.region`) are set by an
administrator, never by the user.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import NAMESPACE_URL, uuid4, uuid5

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from dataagent_core.data.sources.checks import validate_json
from dataagent_core.data.sources.rows import lock_source, remove_protected_values
from dataagent_core.data.sources.types import StoredPolicy, now
from dataagent_core.errors import BadInput, Conflict, NotFound, SourceNotFound
from dataagent_core.storage import Database, Unit
from dataagent_core.storage.database import is_storable
from dataagent_core.storage.tables import data_policies, user_attributes

AttributeValue = str | int | float | bool | list[str | int | float | bool]
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MOST_VALUES = 1000

_OF_USER = select(user_attributes).where(user_attributes.c.user_id == bindparam("of_user"))
_ONE_ATTRIBUTE = (user_attributes.c.user_id == bindparam("of_user")) & (
    user_attributes.c.name == bindparam("wanted")
)
_UPDATE_ATTRIBUTE = update(user_attributes).where(_ONE_ATTRIBUTE).values(value=bindparam("to"))
_DELETE_ATTRIBUTE = delete(user_attributes).where(_ONE_ATTRIBUTE)
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
                if not connection.execute(_UPDATE_ATTRIBUTE, values).rowcount:
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
            lambda connection: connection.execute(_DELETE_ATTRIBUTE, values).rowcount
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


T = TypeVar("T")
_FROM_CONFIG = "config-"

_OF_SOURCE = select(data_policies).where(data_policies.c.source_id == bindparam("of_source"))
_ONE_POLICY = (data_policies.c.policy_id == bindparam("wanted")) & (
    data_policies.c.source_id == bindparam("of_source")
)
_GET = select(data_policies).where(_ONE_POLICY)
_UPDATE_POLICY = (
    update(data_policies)
    .where(_ONE_POLICY)
    .values(name=bindparam("new_name"), rules=bindparam("new_rules"), updated_at=bindparam("at"))
)
_DELETE_POLICY = delete(data_policies).where(_ONE_POLICY)


class PolicyStore:
    """Policies, each of one source."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def list(self, source_id: str) -> builtins.list[StoredPolicy]:
        """The source's policies, by name."""
        rows = await self._db.read(lambda c: list(c.execute(_OF_SOURCE, {"of_source": source_id})))
        return sorted((_policy(row) for row in rows), key=lambda one: (one.name, one.policy_id))

    async def put(
        self,
        source_id: str,
        name: str,
        rules: Mapping[str, Any],
        *,
        policy_id: str | None = None,
    ) -> StoredPolicy:
        """Add a policy, or with `policy_id` replace that one.

        Raises:
            BadInput: the name or the rules cannot be stored.
            SourceNotFound: it does not exist.
            NotFound: the policy does not exist.
            Conflict: the configuration file defines that policy.
        """
        row = _row(source_id, name, rules)
        if policy_id is None:
            row["policy_id"] = str(uuid4())
            await self._insert(row)
        else:
            _refuse_if_configured(policy_id)
            row["policy_id"] = policy_id
            if not await self._change(source_id, lambda c: _replace(c, row)):
                raise _not_found(policy_id)
        return await self._require(source_id, row["policy_id"])

    async def delete(self, source_id: str, policy_id: str) -> None:
        """Remove a policy.

        Raises:
            NotFound: the source has no policy of that id.
            Conflict: the configuration file defines that policy.
        """
        _refuse_if_configured(policy_id)
        values = {"wanted": policy_id, "of_source": source_id}
        if not await self._change(source_id, lambda c: c.execute(_DELETE_POLICY, values).rowcount):
            raise _not_found(policy_id)

    async def put_configured(
        self, source_id: str, policies: Mapping[str, Mapping[str, Any]]
    ) -> bool:
        """Make the source's configured policies these, by name; others stay. True if any changed.

        Raises:
            BadInput: a name or rules cannot be stored.
            SourceNotFound: it does not exist.
        """
        wanted = {
            configured_id(source_id, name): _row(source_id, name, rules)
            for name, rules in policies.items()
        }

        def unit(connection: Connection) -> bool:
            return _replace_configured(connection, source_id, wanted)

        try:
            return await self._change(source_id, unit)
        except IntegrityError:  # another process put the same ones at this moment
            pass
        try:
            return await self._change(source_id, unit)
        except IntegrityError as error:
            raise _no_source() from error

    async def _insert(self, row: dict[str, Any]) -> None:
        try:
            await self._change(
                row["source_id"], lambda c: c.execute(insert(data_policies), row).rowcount
            )
        except IntegrityError as error:
            raise _no_source() from error

    async def _change(self, source_id: str, unit: Unit[T]) -> T:
        """Change policies; in the same transaction the stored catalogue loses protected values."""

        def change(connection: Connection) -> tuple[T, bool]:
            lock_source(connection, source_id)
            changed = unit(connection)
            return changed, bool(changed) and remove_protected_values(connection, source_id)

        changed, was_cleaned = await self._db.write(change)
        if was_cleaned:
            await self._db.scrub()
        return changed

    async def _require(self, source_id: str, policy_id: str) -> StoredPolicy:
        values = {"wanted": policy_id, "of_source": source_id}
        row = await self._db.read(lambda connection: connection.execute(_GET, values).first())
        if row is None:
            raise _not_found(policy_id)
        return _policy(row)


def configured_id(source_id: str, name: str) -> str:
    """The id of a policy that the configuration file defines: the same at every start."""
    return _FROM_CONFIG + uuid5(NAMESPACE_URL, f"dataagent:{source_id}:{name}").hex


def _row(source_id: str, name: str, rules: Mapping[str, Any]) -> dict[str, Any]:
    if not name.strip() or len(name) > 200 or not is_storable(name):
        raise BadInput("A policy's name has 1 to 200 characters.")
    moment = now()
    return {
        "source_id": source_id,
        "name": name.strip(),
        "rules": validate_json(dict(rules), "A policy"),
        "created_at": moment,
        "updated_at": moment,
    }


def _replace_configured(
    connection: Connection, source_id: str, wanted: Mapping[str, dict[str, Any]]
) -> bool:
    stored = {
        row.policy_id: row
        for row in connection.execute(_OF_SOURCE, {"of_source": source_id})
        if row.policy_id.startswith(_FROM_CONFIG)
    }
    gone = [key for key in stored if key not in wanted]
    fresh = [key for key in wanted if key not in stored]
    other = [key for key in wanted if key in stored and stored[key].rules != wanted[key]["rules"]]
    for key in gone:
        connection.execute(_DELETE_POLICY, {"wanted": key, "of_source": source_id})
    for key in fresh:
        connection.execute(insert(data_policies), {**wanted[key], "policy_id": key})
    for key in other:
        _replace(connection, {**wanted[key], "policy_id": key})
    return bool(gone or fresh or other)


def _replace(connection: Connection, row: dict[str, Any]) -> int:
    values = {
        "wanted": row["policy_id"],
        "of_source": row["source_id"],
        "new_name": row["name"],
        "new_rules": row["rules"],
        "at": row["updated_at"],
    }
    return connection.execute(_UPDATE_POLICY, values).rowcount


def _refuse_if_configured(policy_id: str) -> None:
    if policy_id.startswith(_FROM_CONFIG):
        raise Conflict("This policy is defined in the configuration file. Change it there.")


def _no_source() -> SourceNotFound:
    return SourceNotFound("There is no such data source to put a policy on.")


def _not_found(policy_id: str) -> NotFound:
    return NotFound(f"The source has no policy {policy_id[:80]!r}. List them to see their ids.")


def _policy(row: Row[Any]) -> StoredPolicy:
    return StoredPolicy(
        policy_id=row.policy_id,
        source_id=row.source_id,
        name=row.name,
        rules=row.rules,
        is_from_config=row.policy_id.startswith(_FROM_CONFIG),
        created_at=row.created_at,
        updated_at=row.updated_at,
    )
