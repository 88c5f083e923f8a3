"""Records runs of code: an audit entry, a span and the duration of each.

The entry has the code's hash and size, never the code, its output or its files' names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable
from dataclasses import asdict

from dataagent_core.audit import AuditLog
from dataagent_core.identity import RunContext
from dataagent_core.sandbox.types import CodeResult, SandboxLimits
from dataagent_core.telemetry import Metrics, Traces


class CodeObserver:
    """Records runs of code; without audit, traces and metrics it does nothing."""

    def __init__(
        self,
        audit: AuditLog | None = None,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
    ) -> None:
        self._audit = audit
        self._metrics = metrics
        self._traces = traces or Traces()

    async def observe(self, wall: str, code: Awaitable[CodeResult]) -> CodeResult:
        """Run the block in a span, and record how the code ended."""
        with self._traces.span("sandbox.python", {"dataagent.sandbox.wall": wall}) as span:
            result = await code
            if result.status != "ok":
                self._traces.failed(span, result.status)
            return result

    def record_wait(self, seconds: float) -> None:
        """Record how long a run waited for its sandbox."""
        if self._metrics is not None:
            self._metrics.sandbox_waited(seconds)

    def record_refusal(self, code: str, context: RunContext, reason: str) -> None:
        """Record that code was not run."""
        if self._metrics is not None:
            self._metrics.code_ran("refused", 0.0)
        self._note(code, context, {"status": "refused", "reason": reason[:200]}, is_fine=False)

    def record_run(
        self,
        code: str,
        context: RunContext,
        result: CodeResult,
        limits: SandboxLimits,
        *,
        wall: str,
    ) -> None:
        """Record that code was run, however it ended."""
        if self._metrics is not None:
            self._metrics.code_ran(result.status, result.wall_seconds)
        details: dict[str, object] = {
            "wall": wall,
            "limits": asdict(limits),
            "status": result.status,
            "exit_code": result.exit_code,
            "cpu_seconds": round(result.cpu_seconds, 3),
            "wall_seconds": round(result.wall_seconds, 3),
            "max_rss_bytes": result.max_rss_bytes,
            "files": len(result.files),
            "file_bytes": sum(len(file.content) for file in result.files),
        }
        self._note(code, context, details, is_fine=result.status == "ok")

    def _note(
        self, code: str, context: RunContext, details: dict[str, object], *, is_fine: bool
    ) -> None:
        if self._audit is None:
            return
        content = code.encode(errors="replace")
        self._audit.note(
            "python.run",
            "success" if is_fine else "failed",
            user_id=context.user_id,
            session_id=context.session_id,
            run_id=context.run_id,
            details={
                "code_sha256": hashlib.sha256(content).hexdigest(),
                "code_bytes": len(content),
                "tenant_id": context.tenant_id,
                **details,
            },
        )
