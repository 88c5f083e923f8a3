"""A plan as SQL of the source's dialect.

Where joins repeat rows, they are counted by key, or added up over the distinct rows of each group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from dataagent_offline.data.plan import Condition, Group, Hop, Ref, SelectPlan, repeats_rows
from dataagent_offline.data.schema import SourceSchema, label_columns
from dataagent_offline.data.terms import Bucket, Direction, Period, QuestionError
from dataagent_offline.data.vocabulary import keys

_OPERATORS: Final = {"gt": ">", "ge": ">=", "lt": "<", "le": "<=", "eq": "="}
_TEXT_STEPS: Final[dict[Bucket, int]] = {"day": 10, "month": 7, "year": 4}
"""How much of a date in ISO 8601 says the step."""
_GENERIC: Final = frozenset({keys("name"), keys("title"), keys("label")})


class Writer:
    """Writes statements for one schema. `is_plain` does without the engine's date functions."""

    def __init__(self, schema: SourceSchema, *, is_plain: bool = False) -> None:
        self._schema = schema
        self._dialect = schema.dialect
        self._is_plain = is_plain

    def write(self, plan: SelectPlan) -> str:
        """The statement that answers the plan."""
        if plan.is_single and plan.direction:
            return self._first(plan)
        if plan.aggregate is None:
            return self._list(plan)
        if _must_be_wrapped(plan, self._schema):
            return self._wrapped(plan)
        return self._grouped(plan)

    def _grouped(self, plan: SelectPlan) -> str:
        shown = self._shown(plan.groups)
        columns = [f"{expression} AS {name}" for expression, name in shown]
        columns.append(f"{self._measure(plan)} AS {self.name(plan.name)}")
        grouped = [*(expression for expression, _ in shown), *self._keys(plan.groups)]
        return _statement(
            f"SELECT {', '.join(columns)}",
            *self._from(plan),
            f"GROUP BY {', '.join(grouped)}" if grouped else "",
            self._having(plan, self._measure(plan)),
            *self._order(plan, [name for _, name in shown], self._measure(plan)),
        )

    def name(self, text: str) -> str:
        """A name, quoted where it must be."""
        return self._dialect.quote_if_needed(text)

    def ref(self, ref: Ref) -> str:
        """A column with its table."""
        return f"{self.table(ref.table)}.{self.name(ref.column)}"

    def table(self, key: str) -> str:
        """A table, with its schema if it is outside the default one."""
        return ".".join(self.name(part) for part in key.split("."))

    def _nulls_last(self, name: str, direction: Direction) -> str:
        return self._dialect.nulls_last(name, direction, name)

    # -- the parts --------------------------------------------------------------------------------

    def _list(self, plan: SelectPlan) -> str:
        refs = [*plan.shown, *plan.factors]
        columns = [f"{self.ref(ref)} AS {self.name(ref.column)}" for ref in refs]
        names = [self.name(ref.column) for ref in plan.shown]
        wanted = plan.factors or plan.shown[:1]
        order = [*names]
        if plan.factors:
            order.insert(
                0,
                self._nulls_last(self.name(plan.factors[0].column), plan.direction or "desc"),
            )
        elif plan.direction and names:
            order[0] = f"{names[0]} {plan.direction.upper()}"
        missing = [
            f"{self.ref(ref)} IS NOT NULL" for ref in wanted if plan.is_distinct or plan.factors
        ]
        return _statement(
            f"SELECT {'DISTINCT ' if plan.is_distinct else ''}{', '.join(columns)}",
            *self._from(plan, *missing),
            f"ORDER BY {', '.join(order)}",
            f"LIMIT {plan.limit}" if plan.limit else "",
        )

    def _first(self, plan: SelectPlan) -> str:
        """The first, and whatever shares its place: a limit would hide a tie."""
        every = replace(plan, is_single=False, limit=None)
        body = self.write(every).partition("\nORDER BY ")[0]
        if plan.aggregate is None:
            names = [self.name(ref.column) for ref in (*plan.shown, *plan.factors)]
        else:
            names = [*(name for _, name in self._shown(plan.groups)), self.name(plan.name)]
        order = self._nulls_last(names[-1], plan.direction or "desc")
        listed = ", ".join(names)
        return _statement(
            f"SELECT {listed}",
            f"FROM (SELECT {listed}, RANK() OVER (ORDER BY {order}) AS place",
            f"FROM ({body}) AS every_one) AS ranked",
            f"WHERE place = 1\nORDER BY {', '.join(names[:-1])}",
        )

    def _wrapped(self, plan: SelectPlan) -> str:
        """Each row once per group: the inner statement drops what the joins repeat."""
        shown = self._shown(plan.groups)
        inner = [f"{expression} AS {name}" for expression, name in shown]
        key_names: list[str] = []
        for number, expression in enumerate(self._keys(plan.groups)):
            key_names.append(f"group_key_{number}")
            inner.append(f"{expression} AS group_key_{number}")
        table = self._schema.tables[plan.base]
        for number, column in enumerate(table.primary_key):
            inner.append(f"{self.ref(Ref(plan.base, column))} AS row_key_{number}")
        if plan.factors:
            inner.append(f"{self._product(plan)} AS measured")
        body = _statement(f"SELECT DISTINCT {', '.join(inner)}", *self._from(plan))
        measure = "COUNT(*)" if plan.aggregate == "count" else f"{plan.aggregate}(measured)".upper()
        measure = measure.replace("MEASURED", "measured")
        names = [name for _, name in shown]
        grouped = [*names, *key_names]
        return _statement(
            f"SELECT {', '.join([*names, f'{measure} AS {self.name(plan.name)}'])}",
            f"FROM ({body}) AS each_once",
            f"GROUP BY {', '.join(grouped)}" if grouped else "",
            self._having(plan, measure),
            *self._order(plan, names, measure),
        )

    def _shown(self, groups: Iterable[Group]) -> list[tuple[str, str]]:
        """Expression and name of each column a grouping shows; no name twice."""
        found: list[tuple[str, str]] = []
        for group in groups:
            for ref in group.shown:
                name = self._shown_name(group, ref)
                taken = {each for _, each in found}
                if self.name(name) in taken:
                    name = f"{ref.table.rpartition('.')[2]}_{ref.column}"
                found.append((self._expression(group, ref), self.name(name)))
        return found

    def _shown_name(self, group: Group, ref: Ref) -> str:
        if group.bucket:
            return group.bucket
        is_label = group.shown == tuple(
            Ref(ref.table, name) for name in label_columns(self._schema.tables[ref.table])
        )
        if keys(ref.column) in _GENERIC and len(group.shown) == 1 and is_label:
            return ref.table.rpartition(".")[2]
        return ref.column

    def _expression(self, group: Group, ref: Ref) -> str:
        if group.bucket is None:
            return self.ref(ref)
        column = self.ref(ref)
        if self._is_plain and group.bucket in _TEXT_STEPS:  # for engines or policies without more
            text = f"CAST({column} AS {self._dialect.text_type})"
            return f"SUBSTR({text}, 1, {_TEXT_STEPS[group.bucket]})"
        is_text = self._schema.column(ref.table, ref.column).is_text_date
        step = self._dialect.time_step(column, group.bucket, is_text=is_text)
        if step is None:
            raise QuestionError("dialect", self._dialect.name)
        return step

    def _keys(self, groups: Iterable[Group]) -> list[str]:
        return [self.ref(ref) for group in groups for ref in group.keys]

    def _product(self, plan: SelectPlan) -> str:
        return " * ".join(self.ref(ref) for ref in plan.factors)

    def _measure(self, plan: SelectPlan) -> str:
        match plan.aggregate:
            case "count" if repeats_rows(plan.hops) or plan.has_zeros:
                key = Ref(plan.base, self._schema.tables[plan.base].primary_key[0])
                return f"COUNT(DISTINCT {self.ref(key)})"
            case "count":
                return "COUNT(*)"
            case "count_distinct":
                return f"COUNT(DISTINCT {self._product(plan)})"
            case _:
                return f"{(plan.aggregate or '').upper()}({self._product(plan)})"

    def _from(self, plan: SelectPlan, *more: str) -> list[str]:
        if plan.has_zeros:  # from the groups on, so that those without a row stay
            lines = [f"FROM {self.table(plan.hops[-1].target)}"]
            joined = [(f"LEFT JOIN {self.table(hop.source)}", hop) for hop in reversed(plan.hops)]
        else:
            lines = [f"FROM {self.table(plan.base)}"]
            loose = _without_which_rows_stay(plan)
            joined = [
                (f"{'LEFT JOIN' if hop.target in loose else 'JOIN'} {self.table(hop.target)}", hop)
                for hop in plan.hops
            ]
        lines.extend(f"{join} ON {self._on(hop)}" for join, hop in joined)
        where = [*(self._condition(each) for each in plan.conditions), *self._times(plan), *more]
        if where:
            lines.append(f"WHERE {' AND '.join(where)}")
        return lines

    def _on(self, hop: Hop) -> str:
        pairs = zip(hop.columns, hop.target_columns, strict=True)
        return " AND ".join(
            f"{self.ref(Ref(hop.source, left))} = {self.ref(Ref(hop.target, right))}"
            for left, right in pairs
        )

    def _condition(self, condition: Condition) -> str:
        column = self.ref(condition.ref)
        if condition.operator in _OPERATORS:
            number = condition.values[0]
            return f"{column} {_OPERATORS[condition.operator]} {_number(number)}"
        values = [self._value(value) for value in condition.values]
        is_one = len(values) == 1
        if condition.operator in {"not_in", "is_not"}:  # a row without a value has it not, either
            other = f"<> {values[0]}" if is_one else f"NOT IN ({', '.join(values)})"
            return f"({column} {other} OR {column} IS NULL)"
        return f"{column} = {values[0]}" if is_one else f"{column} IN ({', '.join(values)})"

    def _value(self, value: str | float) -> str:
        if isinstance(value, str):
            return self._dialect.literal(value)
        return "TRUE" if value is True else _number(value)

    def _times(self, plan: SelectPlan) -> list[str]:
        if plan.date is None or not plan.periods:
            return []
        column = self.ref(plan.date)
        spans = [_span(column, period) for period in plan.periods]
        return spans if len(spans) == 1 else [f"({' OR '.join(f'({each})' for each in spans)})"]

    def _having(self, plan: SelectPlan, measure: str) -> str:
        if plan.having is None:
            return ""
        operator, number = plan.having
        return f"HAVING {measure} {_OPERATORS[operator]} {_number(number)}"

    def _order(self, plan: SelectPlan, names: Sequence[str], expression: str) -> list[str]:
        if not plan.groups:
            return []
        steps = [
            name
            for name, group in zip(names, _each_column(plan.groups), strict=True)
            if group.bucket
        ]
        measure = self._by_measure(plan, expression)
        rest = [name for name in names if name not in steps]
        order = [measure, *names] if plan.direction or not steps else [*steps, measure, *rest]
        if not rest and not plan.direction and steps:
            order = steps
        lines = [f"ORDER BY {', '.join(order)}"]
        return [*lines, f"LIMIT {plan.limit}"] if plan.limit else lines

    def _by_measure(self, plan: SelectPlan, expression: str) -> str:
        name, direction = self.name(plan.name), plan.direction or "desc"
        if plan.aggregate in {"count", "count_distinct"}:  # a count is never missing
            return f"{name} {direction.upper()}"
        return self._dialect.nulls_last(name, direction, expression)


def _must_be_wrapped(plan: SelectPlan, schema: SourceSchema) -> bool:
    if not repeats_rows(plan.hops) or plan.aggregate in {"count_distinct", "min", "max"}:
        return False
    return plan.aggregate != "count" or len(schema.tables[plan.base].primary_key) > 1


def _without_which_rows_stay(plan: SelectPlan) -> set[str]:
    """Tables on the way to a value that is ruled out: a row that leads nowhere has it not."""
    sources = {hop.target: hop.source for hop in plan.hops}
    found: set[str] = set()
    for condition in plan.conditions:
        table = condition.ref.table
        while condition.operator in {"not_in", "is_not"} and table in sources:
            found.add(table)
            table = sources[table]
    return found


def _each_column(groups: Iterable[Group]) -> list[Group]:
    return [group for group in groups for _ in group.shown]


def _span(column: str, period: Period) -> str:
    parts: list[str] = []
    if period.start:
        parts.append(f"{column} >= '{period.start.isoformat()}'")
    if period.end:
        parts.append(f"{column} < '{period.end.isoformat()}'")
    return " AND ".join(parts)


def _number(number: str | float) -> str:
    value = float(number)
    return str(int(value)) if value == int(value) else repr(value)


def _statement(*lines: str) -> str:
    return "\n".join(line for line in lines if line)
