"""What `infra/` tells a deployment exists: settings, commands, health routes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from dataagent_server.config import ServerSettings
from tests.requirements import requirement

INFRA = Path(__file__).parents[1] / "infra"
FILES = [
    INFRA / "compose.yaml",
    INFRA / "Dockerfile",
    *sorted((INFRA / "kustomize").glob("*.yaml")),
]
PROCESSES = ("serve", "worker")


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def test_every_setting_that_is_named_is_one() -> None:
    known = {f"DATAAGENT_{name.upper()}" for name in ServerSettings.model_fields}
    named = {name for file in FILES for name in re.findall(r"DATAAGENT_[A-Z_]+", file.read_text())}
    assert named - known == set()
    assert {"DATAAGENT_DATABASE_URL", "DATAAGENT_REDIS_URL", "DATAAGENT_RUNS_IN"} <= named


@requirement("G10")
def test_compose_has_two_web_processes_and_two_workers_behind_nginx() -> None:
    services = documents(INFRA / "compose.yaml")[0]["services"]
    commands = sorted(s["command"][0] for s in services.values() if s.get("image") == "dataagent")
    assert commands == ["serve", "serve", "worker", "worker"]
    assert services.keys() >= {"nginx", "postgres", "redis"}
    upstreams = set(re.findall(r"server (\w+):8000", (INFRA / "nginx.conf").read_text()))
    assert upstreams == {name for name, s in services.items() if s.get("command") == ["serve"]}


@requirement("G9", "G14")
def test_kubernetes_asks_for_readiness_and_leaves_time_to_end() -> None:
    listed = documents(INFRA / "kustomize" / "kustomization.yaml")[0]["resources"]
    assert sorted(listed) == sorted(
        file.name for file in (INFRA / "kustomize").glob("*.yaml") if "kustom" not in file.name
    )
    deployments = [
        each["spec"]["template"]["spec"]
        for name in listed
        for each in documents(INFRA / "kustomize" / name)
        if each["kind"] == "Deployment"
    ]
    containers = {pod["containers"][0]["args"][0]: pod["containers"][0] for pod in deployments}
    assert tuple(sorted(containers)) == PROCESSES
    assert all(pod["terminationGracePeriodSeconds"] > 30 for pod in deployments)
    assert containers["serve"]["readinessProbe"]["httpGet"]["path"] == "/api/v1/health/ready"
