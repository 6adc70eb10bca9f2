"""Prometheus' own tool: it checks the alert rules, and runs them against what an agent serves at /metrics.

An incident of a test takes seconds, and the rules wait for minutes: each `Phase` is one scrape of a real agent, which
is then taken for what every scrape of some minutes has shown.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

RULES = Path(__file__).parents[1] / "deploy" / "prometheus"
_CACHE = Path(os.environ.get("SHIPPER_CACHE", Path(__file__).parents[1] / ".cache"))
PROMTOOL = shutil.which("promtool") or str(_CACHE / "tools" / "usr" / "bin" / "promtool")
TARGET = {"job": "shipper", "instance": "web-1"}

needs_promtool = pytest.mark.skipif(not Path(PROMTOOL).exists(), reason="no promtool: run script/tools --all")


@dataclass(frozen=True, slots=True)
class Phase:
    """What was scraped, "" while nothing answered, and for how many minutes; the alerts that fire at its end."""

    scraped: str
    minutes: int
    firing: Sequence[str] = ()


def promtool(directory: Path, *arguments: str) -> str:
    """Return what it prints; fail with that if it ends with an error."""
    ended = subprocess.run([PROMTOOL, *arguments], cwd=directory, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def expect_alerts(directory: Path, phases: Sequence[Phase]) -> None:
    """Fail unless exactly those alerts fire at the end of each phase. `directory` takes the series."""
    test = {"interval": "1m", "input_series": list(_series(phases)), "promql_expr_test": list(_expectations(phases))}
    program = {"rule_files": [str(RULES / "shipper-alerts.yml")], "evaluation_interval": "1m", "tests": [test]}
    file = directory / "recorded.yml"
    file.write_text(json.dumps(program))
    promtool(directory, "test", "rules", str(file))


def _series(phases: Sequence[Phase]) -> Iterator[dict[str, Any]]:
    scrapes = [_samples(phase.scraped) for phase in phases]
    for name in dict.fromkeys(name for scrape in scrapes for name in scrape):
        values = [scrape.get(name, "_") for scrape in scrapes]
        repeated = [" ".join([value] * phase.minutes) for value, phase in zip(values, phases, strict=True)]
        yield {"series": name, "values": " ".join(repeated)}


def _samples(scraped: str) -> dict[str, str]:
    """Return the value of each series of a scrape."""
    samples = {_named("up", TARGET): "1" if scraped else "0"}
    for family in text_string_to_metric_families(scraped):
        samples |= {_named(sample.name, sample.labels | TARGET): f"{sample.value:f}" for sample in family.samples}
    return samples


def _named(name: str, labels: dict[str, str]) -> str:
    return name + "{" + ", ".join(f"{label}={json.dumps(value)}" for label, value in labels.items()) + "}"


def _expectations(phases: Sequence[Phase]) -> Iterator[dict[str, Any]]:
    minute = -1
    for phase in phases:
        minute += phase.minutes
        firing = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(phase.firing)]
        expression = 'count by (alertname) (ALERTS{alertstate="firing"})'
        yield {"expr": expression, "eval_time": f"{minute}m", "exp_samples": firing}
