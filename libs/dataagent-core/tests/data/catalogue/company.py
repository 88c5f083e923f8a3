"""A company's schema with a thousand columns, as a catalogue, for measuring search.

`company_schema.txt` has the tables of ten departments. Names are English as programmers write
them, comments Chinese as they are in many a company. Written before the questions, with no eye to
how search works. One line a table: `name|comment|column:comment, column>target:comment, …`; every
table ends with the same columns that record who wrote a row and when.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from dataagent_core.data.catalogue import structure_hash
from dataagent_core.data.types import Catalogue, Column, ForeignKey, Table

_EVERYWHERE = (
    "created_at:创建时间, created_by:创建人, updated_at:更新时间, is_deleted:是否删除, "
    "remark:备注, owner_org:所属组织, source_system:来源系统, row_version:数据版本"
)

_SAMPLES = {
    "customers.country": ("Germany", "Brazil", "中国", "Japan"),
    "customers.industry": ("制造业", "零售", "Healthcare"),
    "orders.channel": ("online", "wholesale", "门店"),
    "orders.order_status": ("cancelled", "shipped", "pending"),
    "stores.store_format": ("旗舰店", "便利店", "outlet"),
    "returns.return_reason": ("damaged", "wrong size", "质量问题"),
    "leave_requests.leave_type": ("病假", "年假", "maternity"),
    "web_sessions.device_type": ("iPhone", "Android", "desktop"),
    "machine_downtime.downtime_reason": ("overheating", "缺料", "换模"),
    "payments_received.pay_method": ("Alipay", "wire transfer", "现金"),
    "vehicles.fuel_type": ("diesel", "electric"),
    "employees.education_level": ("硕士", "本科", "PhD"),
    "contracts.contract_type": ("租赁合同", "NDA", "framework agreement"),
    "warehouses.temperature_zone": ("冷藏", "常温", "frozen"),
    "campaigns.media_channel": ("TikTok", "微信", "television"),
    "support_tickets.issue_type": ("登录失败", "billing error", "delivery delay"),
}


@cache
def company_catalogue() -> Catalogue:
    """The schema as a catalogue."""
    written = Path(__file__).with_name("company_schema.txt").read_text(encoding="utf-8")
    lines = [line.split("|") for line in written.splitlines()]
    keys = {name: columns.split(":", 1)[0] for name, _comment, columns in lines}
    tables = tuple(_table(name, comment, columns, keys) for name, comment, columns in lines)
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return Catalogue("company", "postgres", tables, structure_hash(tables), moment)


def _table(name: str, comment: str, written: str, keys: dict[str, str]) -> Table:
    columns: list[Column] = []
    targets: list[ForeignKey] = []
    for each in f"{written}, {_EVERYWHERE}".split(", "):
        said, _, meaning = each.partition(":")
        column, _, target = said.partition(">")
        if target:
            targets.append(ForeignKey((column,), target, (keys[target],)))
        samples = _SAMPLES.get(f"{name}.{column}", ())
        columns.append(Column(column, "TEXT", comment=meaning, samples=samples))
    return Table(
        name=name,
        columns=tuple(columns),
        comment=comment,
        primary_key=(keys[name],),
        foreign_keys=tuple(targets),
        row_count=1000,
    )
