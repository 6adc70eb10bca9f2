"""The alert rules name metrics that exist, say what to do, and each has its section in the runbook."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.deploy.served_metrics import JOBS, PROMETHEUS, SCRAPED, SERVED, labels_in, names_in

ROOT = Path(__file__).parents[3]
PROMETHEUS_FILES = ROOT / "deploy" / "prometheus"
RUNBOOK = "docs/reference/alerts.md"


def rules_of(file: str) -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS_FILES / file).read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


SHIPPER, SINK = rules_of("shipper-alerts.yml"), rules_of("spark-sink-alerts.yml")
RULES = (*SHIPPER, *SINK)


def watched(rules: list[dict[str, Any]]) -> set[str]:
    return {name for rule in rules for name in names_in(rule["expr"])}


def test_there_is_an_alert_for_each_way_to_lose_or_to_stand_still() -> None:
    assert watched(SINK) >= {
        "spark_sink_silent_seconds",
        "spark_sink_start_time_seconds",
        "spark_sink_lag_offsets",
        "spark_sink_rows_bad_total",
        "spark_sink_offsets_lost_total",
        "spark_sink_view_up",
    }
    assert watched(SHIPPER) >= {
        "up",
        "shipper_loop_silent_seconds",
        "shipper_start_time_seconds",
        "shipper_output_reached",
        "shipper_output_failing",
        "shipper_topics_waiting",
        "shipper_input_lag_bytes",
        "shipper_input_oldest_unacknowledged_seconds",
        "shipper_bytes_lost_total",
        "shipper_files_missed_total",
        "shipper_records_lost_total",
        "shipper_journal_entries_lost_total",
        "shipper_queue_disk_events_lost_total",
        "shipper_events_dead_lettered_total",
        "shipper_dead_letters_waiting",
        "shipper_registry_failing",
        "shipper_socket_problems_total",
        "shipper_queue_disk_full",
        "shipper_queue_disk_failing",
        "shipper_data_free_bytes",
        "shipper_file_problems",
        "shipper_reloads_total",
        "shipper_processor_failures_total",
        "shipper_kubernetes_errors_total",
    }


def test_every_metric_and_label_of_the_rules_is_served(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule["alert"]):
            names = names_in(rule["expr"])
            assert names
            assert names <= SERVED.keys()
            assert [pair for pair in labels_in(rule["expr"]) if pair[1] not in {*SERVED[pair[0]], *SCRAPED}] == []
            assert set(re.findall(r'job="([^"]*)"', rule["expr"])) <= JOBS


def test_texts_name_only_labels_that_their_series_have(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule["alert"]):
            has = SCRAPED | {label for name in names_in(rule["expr"]) - PROMETHEUS.keys() for label in SERVED[name]}
            has = set() if rule["expr"].startswith("absent(") else has
            for labels in re.findall(r"\b(?:by|on) \(([^)]*)\)", rule["expr"]):
                assert set(labels.split(", ")) <= has
            texts = " ".join(rule["annotations"].values())
            assert set(re.findall(r"\$labels\.(\w+)", texts)) <= has
            for kept in re.findall(r"\bby \(([^)]*)\)", rule["expr"]):
                has = set(kept.split(", "))
            assert set(re.findall(r"\$labels\.(\w+)", texts)) <= has, "an aggregation has dropped the label"


def test_the_rules_have_all_that_prometheus_and_a_person_need(subtests: pytest.Subtests) -> None:
    for rule in RULES:
        with subtests.test(rule["alert"]):
            assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
            assert re.fullmatch(r"\d+[smh]", rule.get("for", "1m"))
            assert rule["labels"].keys() == {"severity"}
            assert rule["labels"]["severity"] in ("warning", "critical")
            assert rule["annotations"].keys() == {"summary", "description", "runbook"}
            assert all(text.count("{{") == text.count("}}") for text in rule["annotations"].values())
            assert rule["annotations"]["runbook"] == f"{RUNBOOK}#{rule['alert'].lower()}"


def test_the_descriptions_of_the_agents_have_what_to_do_first() -> None:
    assert [rule["alert"] for rule in SHIPPER if "First: " not in rule["annotations"]["description"]] == []


def test_the_runbook_has_a_section_for_each_alert_in_their_order() -> None:
    sections = re.findall(r"^#### (\w+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert sections == [rule["alert"] for rule in RULES]


def test_each_alert_is_run_against_series() -> None:
    programs = {path.name: path.read_text() for path in (PROMETHEUS_FILES / "tests").glob("*.yml")}
    for file, rules in (("shipper.yml", SHIPPER), ("spark-sink.yml", SINK)):
        expected = set(re.findall(r'labels: \'\{alertname="(\w+)"', programs[file]))
        assert expected == {rule["alert"] for rule in rules}
    for text in programs.values():
        for name in re.findall(r"series: '(\w+)\{", text):
            assert name in SERVED
