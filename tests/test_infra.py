"""What `infra/` tells a deployment exists: settings, commands, health routes."""

from __future__ import annotations

import re
import subprocess
import sysconfig
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from dataagent_server.config import ServerSettings
from tests.requirements import requirement

INFRA = Path(__file__).parents[1] / "infra"
CHART = INFRA / "helm"
FILES = [INFRA / "compose.yaml", INFRA / "Dockerfile", *sorted(CHART.rglob("*.yaml"))]
SECRET = "existingSecret=mine"
CLUSTERS = ("1.27", "newest")


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


# -- the chart ----------------------------------------------------------------------------------


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(sysconfig.get_path("scripts")) / "helm"
    if not program.exists():
        pytest.skip("there is no helm to install on this machine")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def rendered(*settings: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What the chart makes of the settings: the objects by kind and name."""
    said = helm("template", "here", str(CHART), *(f"--set={each}" for each in settings))
    assert said.returncode == 0, said.stderr
    made = [each for each in yaml.safe_load_all(said.stdout) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in made}


def pods(made: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The pods of the chart, by what they run."""
    found = [e["spec"]["template"]["spec"] for (kind, _), e in made.items() if kind == "Deployment"]
    return {pod["containers"][0]["args"][0]: pod for pod in found}


def test_the_chart_is_a_good_one() -> None:
    said = helm("lint", "--strict", str(CHART), f"--set={SECRET}")
    assert said.returncode == 0, said.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", CLUSTERS)
@pytest.mark.parametrize(
    "settings",
    [
        [SECRET],
        [SECRET, "ingress.enabled=true", "ingress.tlsSecret=tls", "ingress.className=nginx"],
        ["secret.DATAAGENT_DATABASE_URL=postgresql://x", "data.existingClaim=ours"],
        [SECRET, "settings.DATAAGENT_RUNS_IN=web", "imagePullSecrets[0].name=pull"],
    ],
)
def test_kubernetes_understands_all_of_it(settings: list[str], version: str) -> None:
    kubernetes: Any = import_module("kubernetes_validate")  # untyped, and takes long to load
    asked = kubernetes.latest_version() if version == "newest" else version
    for each in rendered(*settings).values():
        kubernetes.validate(each, asked, strict=True)


@requirement("G9", "G14")
def test_kubernetes_asks_for_readiness_and_leaves_time_to_end() -> None:
    found = pods(rendered(SECRET))
    assert sorted(found) == ["serve", "worker"]
    assert all(pod["terminationGracePeriodSeconds"] > 30 for pod in found.values())
    probe = found["serve"]["containers"][0]["readinessProbe"]["httpGet"]
    assert probe["path"] == "/api/v1/health/ready"


@requirement("G10")
def test_the_chart_and_compose_start_the_same_processes_with_the_same_settings() -> None:
    made = rendered(SECRET)
    services = documents(INFRA / "compose.yaml")[0]["services"]
    compose = [s for s in services.values() if s.get("image") == "dataagent"]
    for name, command in (("here-web", "serve"), ("here-worker", "worker")):
        here = [s for s in compose if s["command"] == [command]]
        assert made["Deployment", name]["spec"]["replicas"] == len(here)
    told = made["ConfigMap", "here"]["data"]
    for service in compose:
        both = told.keys() & service["environment"].keys()
        assert "DATAAGENT_RUNS_IN" in both
        assert {k: told[k] for k in both} == {k: service["environment"][k] for k in both}


def test_no_process_can_write_to_its_image_or_become_root() -> None:
    for pod in pods(rendered(SECRET)).values():
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["automountServiceAccountToken"] is False
        inside = pod["containers"][0]["securityContext"]
        assert inside["readOnlyRootFilesystem"]
        assert inside["allowPrivilegeEscalation"] is False
        assert inside["capabilities"] == {"drop": ["ALL"]}
        assert {m["mountPath"] for m in pod["containers"][0]["volumeMounts"]} == {"/data", "/tmp"}
    services = documents(INFRA / "compose.yaml")[0]["services"]
    for service in services.values():
        if service.get("image") == "dataagent":
            assert service["read_only"]
            assert service["cap_drop"] == ["ALL"]
    assert "USER 10001" in (INFRA / "Dockerfile").read_text()


def test_a_chart_without_a_secret_or_with_an_unknown_value_fails_with_the_reason() -> None:
    without = helm("template", "here", str(CHART))
    assert without.returncode
    assert "Set existingSecret, or secret.DATAAGENT_DATABASE_URL" in without.stderr
    wrong = helm("template", "here", str(CHART), f"--set={SECRET}", "--set=web.replica=2")
    assert wrong.returncode
    assert "replica is not allowed" in wrong.stderr


@pytest.mark.slow
def test_other_settings_are_other_processes() -> None:
    before, after = rendered(SECRET), rendered(SECRET, "settings.DATAAGENT_LOG_LEVEL=DEBUG")
    name = ("Deployment", "here-worker")
    assert before[name]["spec"]["template"] != after[name]["spec"]["template"]
    assert before[name]["spec"]["selector"] == after[name]["spec"]["selector"]
