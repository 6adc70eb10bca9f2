"""The alert rules name metrics that exist; a rule on any other name would never fire."""

import re
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

from spark_sink.monitor.metrics import SinkMetrics

RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load(
        (Path(__file__).parents[3] / "deploy" / "prometheus" / "spark-sink-alerts.yml").read_text()
    )["groups"]
    for rule in group["rules"]
]
each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))


def served() -> dict[str, tuple[str, ...]]:
    """Each name that can be asked for, and its labels."""
    metrics = SinkMetrics()
    families = {metric.name: metric.type for metric in metrics.registry.collect()}
    collectors = {
        metric._name: metric._labelnames for metric in vars(metrics).values() if hasattr(metric, "_labelnames")
    }
    return {f"{name}_total" if kind == "counter" else name: collectors[name] for name, kind in families.items()}


SERVED = served()
SCRAPED = {"instance", "job"}  # labels that Prometheus adds itself


def test_there_is_an_alert_for_each_way_to_lose_or_to_stand_still() -> None:
    watched = {name for rule in RULES for name in re.findall(r"\bspark_sink_\w+", rule["expr"])}
    assert watched >= {
        "spark_sink_silent_seconds",
        "spark_sink_start_time_seconds",
        "spark_sink_lag_offsets",
        "spark_sink_rows_bad_total",
        "spark_sink_offsets_lost_total",
        "spark_sink_view_up",
    }


@each_rule
def test_an_expression_is_promql(rule: dict[str, Any]) -> None:
    promql_parser.parse(rule["expr"])


@each_rule
def test_every_metric_of_a_rule_is_served(rule: dict[str, Any]) -> None:
    names = set(re.findall(r"\bspark_sink_\w+", rule["expr"]))
    assert names <= SERVED.keys()
    assert names or "(up{" in rule["expr"]


@each_rule
def test_a_text_names_only_labels_that_its_series_have(rule: dict[str, Any]) -> None:
    has = SCRAPED | {label for name in re.findall(r"\bspark_sink_\w+", rule["expr"]) for label in SERVED[name]}
    texts = " ".join(rule["annotations"].values())
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= has
    for kept in re.findall(r"\bby \(([^)]*)\)", rule["expr"]):
        has = set(kept.split(", "))
    assert set(re.findall(r"\$labels\.(\w+)", texts)) <= has, "an aggregation has dropped the label"


@each_rule
def test_a_rule_has_all_that_prometheus_and_a_person_need(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"].keys() == {"summary", "description"}
    assert all(text.count("{{") == text.count("}}") for text in rule["annotations"].values())
