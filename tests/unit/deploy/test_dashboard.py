"""The dashboard asks for metrics that exist, and is what Grafana can import."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from tests.unit.deploy.served_metrics import SCRAPED, SERVED, labels_in, names_in

DASHBOARD: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "deploy" / "grafana" / "log-shipper.json").read_text()
)
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24
# What the schema leaves to the data source, and a text that Grafana itself writes for older releases.
OUTSIDE = {"definition", "titleFormat", "textFormat", "step"}


def expressions(panel: dict[str, Any]) -> list[str]:
    """Return those of a panel, as Grafana sends them."""
    return [
        re.sub(r"\$(?:shipper|sink)\b", ".*", target["expr"]).replace("$__rate_interval", "1m")
        for target in panel["targets"]
    ]


def test_every_metric_and_label_of_the_panels_is_served(subtests: pytest.Subtests) -> None:
    for panel, expression in [(one, expression) for one in PANELS for expression in expressions(one)]:
        with subtests.test(panel["title"]):
            names = names_in(expression)
            assert names
            assert names <= SERVED.keys()
            selected = set(labels_in(expression))
            assert [pair for pair in selected if pair[1] not in {*SERVED[pair[0]], *SCRAPED}] == []
            assert {(name, "instance") for name in names} <= selected, "the variable chooses the instances"


def test_legends_name_only_labels_that_their_series_have(subtests: pytest.Subtests) -> None:
    for panel, target in [(one, target) for one in PANELS for target in one["targets"]]:
        with subtests.test(panel["title"]):
            has = SCRAPED | {label for name in names_in(expressions(panel)[0]) for label in SERVED[name]}
            for kept in re.findall(r"\bby \(([^)]*)\)", target["expr"]):
                has = set(kept.split(", "))
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= has


def test_the_panels_have_what_grafana_needs(subtests: pytest.Subtests) -> None:
    for panel in PANELS:
        with subtests.test(panel["title"]):
            assert panel["type"] in ("stat", "timeseries", "table")
            assert panel["datasource"] == SOURCE
            assert panel["fieldConfig"]["defaults"]["unit"]
            references = [target["refId"] for target in panel["targets"]]
            assert len(set(references)) == len(references)
            assert all(target["datasource"] == SOURCE for target in panel["targets"])


def test_rates_have_a_unit_of_rates_and_seconds_that_of_time(subtests: pytest.Subtests) -> None:
    rates = {"eps", "cps", "reqps", "Bps", "percentunit"}
    for panel in PANELS:
        with subtests.test(panel["title"]):
            unit = panel["fieldConfig"]["defaults"]["unit"]
            asked = panel["targets"][0]["expr"]
            is_rate = "rate(" in asked and "histogram_quantile" not in asked
            assert (unit in rates) is (is_rate or " / " in asked)
            assert (unit == "s") is bool("histogram" in asked or re.search(r"(?<!cpu)_seconds\b", asked))


def members(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield all values of a document with their paths."""
    if isinstance(node, dict | list):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            yield from members(value, f"{path}.{key}")
    else:
        yield path, node


def test_grafanas_own_model_knows_every_member() -> None:
    register_default_plugins()
    read = json.loads(JSONEncoder().encode(Dashboard.from_json(DASHBOARD)))
    known = dict(members(read))
    unknown = {path for path, value in members(DASHBOARD) if known.get(path, "nothing") != value}
    assert [path for path in unknown if path.rpartition(".")[2] not in OUTSIDE] == []


def test_the_variables_choose_the_data_source_and_the_instances() -> None:
    assert list(VARIABLES) == ["datasource", "shipper", "sink"]
    assert (VARIABLES["datasource"]["type"], VARIABLES["datasource"]["query"]) == ("datasource", "prometheus")
    for name in ("shipper", "sink"):
        (series, label) = re.fullmatch(r"label_values\((.*), (\w+)\)", VARIABLES[name]["definition"]).groups()  # type: ignore[union-attr]  # None fails the test, too
        assert names_in(series) == {"up"}, "an instance that is down must still be in the list"
        assert label == "instance"
        assert VARIABLES[name]["query"]["query"] == VARIABLES[name]["definition"]


def cells(panel: dict[str, Any]) -> Iterator[tuple[int, int]]:
    place = panel["gridPos"]
    assert place["x"] + place["w"] <= WIDTH
    for row in range(place["y"], place["y"] + place["h"]):
        for column in range(place["x"], place["x"] + place["w"]):
            yield row, column


def test_no_panel_lies_over_another_and_each_has_its_own_id() -> None:
    for one, other in combinations(DASHBOARD["panels"], 2):
        assert one["id"] != other["id"]
        assert not set(cells(one)) & set(cells(other)), (one["title"], other["title"])


def test_the_rows_are_in_the_order_of_an_incident() -> None:
    rows = [panel for panel in DASHBOARD["panels"] if panel["type"] == "row"]
    assert [row["title"] for row in rows] == [
        "Agent: delivery",
        "Agent: output",
        "Agent: files",
        "Agent: dropped and changed events",
        "Agent: other inputs, and the queue on disk",
        "Agent: process",
        "Sink: landing",
        "Sink: views and memory",
    ]
    places = [panel["gridPos"]["y"] for panel in DASHBOARD["panels"]]
    assert places == sorted(places)
