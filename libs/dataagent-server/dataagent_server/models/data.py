"""Request and response models of data sources, grants, policies and user attributes.

The URL of a source is received and never sent; what is sent of it has no password, and goes to
administrators only.
"""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, SecretStr, StringConstraints

from dataagent_core.data.sources import (
    AttributeValue,
    DefaultPolicy,
    Grant,
    NewSource,
    Source,
    SourceChanges,
    StoredPolicy,
    SubjectKind,
)
from dataagent_core.data.types import QueryLimits, Reader, SourceKind
from dataagent_server.models.fields import (
    RequestModel,
    ResponseModel,
    SafeJson,
    SafeText,
    UtcTime,
)

SourceName = Annotated[SafeText, StringConstraints(min_length=1, max_length=64)]
Description = Annotated[SafeText, StringConstraints(max_length=4000)]
FolderPath = Annotated[SafeText, StringConstraints(min_length=1, max_length=4096)]
TimeZone = Annotated[SafeText, StringConstraints(min_length=1, max_length=64)]
SubjectId = Annotated[SafeText, StringConstraints(max_length=64)]
PolicyName = Annotated[SafeText, StringConstraints(min_length=1, max_length=200)]
Bound = Annotated[int, Field(ge=1, le=2**53)]


class GrantBody(RequestModel):
    """Who may read a source. `subject_id` is empty for everyone."""

    subject_kind: SubjectKind
    subject_id: SubjectId = ""

    @property
    def grant(self) -> Grant:
        """As the core has it."""
        return Grant(self.subject_kind, self.subject_id)


class GrantsBody(RequestModel):
    """All grants of a source; those left out are revoked."""

    grants: list[GrantBody] = Field(max_length=1000)
    source_id: str | None = Field(default=None, description="If sent, must match the URL.")

    @property
    def all(self) -> tuple[Grant, ...]:
        """As the core has them."""
        return tuple(each.grant for each in self.grants)


class LimitsBody(RequestModel):
    """Limits of a query; those left out stay unchanged."""

    max_rows: Bound | None = None
    max_bytes: Bound | None = None
    timeout_seconds: Annotated[float, Field(gt=0, le=86_400)] | None = None

    def over(self, limits: QueryLimits) -> QueryLimits:
        """These limits, the rest from others."""
        return QueryLimits(
            max_rows=self.max_rows or limits.max_rows,
            max_bytes=self.max_bytes or limits.max_bytes,
            timeout_seconds=self.timeout_seconds or limits.timeout_seconds,
        )


class SourceCreate(RequestModel):
    """A source to register: a database by its URL, or a folder of files on the server."""

    name: SourceName
    url: SecretStr | None = Field(
        default=None,
        description="SQLAlchemy's form, password included. Stored encrypted and never shown.",
        examples=["postgresql://reader:secret@db.example.com:5432/sales"],
        json_schema_extra={"writeOnly": True},
    )
    folder: FolderPath | None = None
    description: Description = ""
    time_zone: TimeZone = "UTC"
    default_policy: DefaultPolicy = Field(
        default="allow", description="The rule for tables that no policy names."
    )
    limits: LimitsBody = Field(default_factory=LimitsBody)
    grants: list[GrantBody] = Field(default_factory=list[GrantBody], max_length=1000)

    @property
    def new(self) -> NewSource:
        """As the core has it."""
        return NewSource(
            name=self.name,
            url=self.url,
            folder=self.folder,
            description=self.description,
            default_policy=self.default_policy,
            time_zone=self.time_zone,
            limits=self.limits.over(QueryLimits()),
            grants=tuple(each.grant for each in self.grants),
        )


class SourceUpdate(RequestModel):
    """Changes of a source; what is left out or null stays, its credential too."""

    model_config = ConfigDict(json_schema_extra={"example": {"description": "Sales since 2020"}})

    source_id: str | None = Field(default=None, description="If sent, must match the URL.")
    name: SourceName | None = None
    url: SecretStr | None = Field(default=None, json_schema_extra={"writeOnly": True})
    folder: FolderPath | None = None
    description: Description | None = None
    time_zone: TimeZone | None = None
    default_policy: DefaultPolicy | None = None
    limits: LimitsBody | None = None
    grants: list[GrantBody] | None = Field(default=None, max_length=1000)

    def changes(self, source: Source) -> SourceChanges:
        """As the core has them."""
        return SourceChanges(
            name=self.name,
            url=self.url,
            folder=self.folder,
            description=self.description,
            default_policy=self.default_policy,
            time_zone=self.time_zone,
            limits=None if self.limits is None else self.limits.over(source.limits),
            grants=None if self.grants is None else tuple(each.grant for each in self.grants),
        )


class GrantInfo(ResponseModel):
    """Who may read a source."""

    subject_kind: SubjectKind
    subject_id: str


class LimitsInfo(ResponseModel):
    """Limits of a query on the source."""

    max_rows: int
    max_bytes: int
    timeout_seconds: float


class SourceInfo(ResponseModel):
    """A data source. The fields from `owner_id` on are null unless the caller is an administrator.

    `is_own` says that the caller made it, so that they may delete it if it is of their own files.
    `address` has no password, and nothing else of a source has one either.
    """

    source_id: str
    name: str
    kind: SourceKind
    description: str
    dialect: str | None
    is_sample: bool
    is_from_config: bool
    default_policy: DefaultPolicy
    time_zone: str
    limits: LimitsInfo
    created_at: UtcTime
    updated_at: UtcTime
    is_own: bool = False
    owner_id: str | None = None
    address: str | None = None
    folder: str | None = None
    files: list[str] | None = Field(default=None, examples=[["sales.csv"]])
    has_credentials: bool | None = None
    grants: list[GrantInfo] | None = None

    @classmethod
    def of(cls, source: Source, reader: Reader) -> Self:
        """The source as the reader may see it."""
        info = cls.model_validate(source, from_attributes=True)
        hidden = {} if reader.is_admin else dict.fromkeys(_FOR_ADMINS)
        is_own = source.owner_id == reader.user_id
        return info.model_copy(update={**hidden, "is_own": is_own})


class UploadedSourceInfo(SourceInfo):
    """A data source made from files. `left_out` lists what is in no table, and why."""

    left_out: tuple[str, ...] = ()


_FOR_ADMINS = ("owner_id", "address", "folder", "files", "has_credentials", "grants")


class PolicyBody(RequestModel):
    """A policy: its subjects, and its rules for tables."""

    name: PolicyName
    rules: SafeJson = Field(
        description=(
            "`subjects` (`everyone`, or `users`, `roles`, `tenants` by ids) and `tables`: for each "
            "table, or `*` for all, any of `grant`, `row_filter`, `deny_columns`, `masks`."
        ),
        examples=[
            {
                "subjects": {"users": ["ana"]},
                "tables": {
                    "Customer": {
                        "row_filter": "Country = :user.country",
                        "deny_columns": ["Phone"],
                        "masks": {"Email": "partial"},
                    }
                },
            }
        ],
    )


class PolicyUpdate(PolicyBody):
    """A policy's new content."""

    policy_id: str | None = Field(default=None, description="If sent, must match the URL.")
    source_id: str | None = Field(default=None, description="If sent, must match the URL.")


class PolicyInfo(ResponseModel):
    """A policy of a source."""

    policy_id: str
    source_id: str
    name: str
    rules: dict[str, Any]
    is_from_config: bool
    created_at: UtcTime
    updated_at: UtcTime

    @classmethod
    def of(cls, policy: StoredPolicy) -> Self:
        """The public form of a policy; its name stands once."""
        info = cls.model_validate(policy, from_attributes=True)
        info.rules.pop("name", None)
        return info


class AttributesBody(RequestModel):
    """All attributes of a user; those left out are deleted."""

    attributes: SafeJson = Field(
        description="By name: text, a number, true, false, or a list of them.",
        examples=[{"region": "EMEA", "countries": ["Germany", "France"]}],
    )
    user_id: str | None = Field(default=None, description="If sent, must match the URL.")


class AttributesInfo(ResponseModel):
    """What row filters may ask about a user, as `:user.NAME`."""

    user_id: str
    attributes: dict[str, AttributeValue]
