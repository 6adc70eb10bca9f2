"""Prometheus' own tool accepts the rules, and runs them against the series in deploy/prometheus/tests."""

from pathlib import Path

import pytest

from tests.promtool import RULES, Phase, expect_alerts, needs_promtool, promtool

pytestmark = [pytest.mark.slow("needs promtool, which script/tools fetches"), needs_promtool]


@pytest.mark.parametrize("file", sorted(RULES.glob("*.yml")), ids=lambda file: str(file.name))
def test_a_file_of_rules_is_accepted(file: Path) -> None:
    assert "SUCCESS" in promtool(RULES, "check", "rules", str(file))


@pytest.mark.parametrize("file", sorted((RULES / "tests").glob("*.yml")), ids=lambda file: str(file.name))
def test_each_alert_fires_in_its_incident_and_not_beside_it_and_ends_afterwards(file: Path) -> None:
    assert "SUCCESS" in promtool(RULES / "tests", "test", "rules", file.name)


def test_what_was_scraped_is_run_against_the_rules(tmp_path: Path) -> None:
    fine = "# TYPE shipper_registry_failing gauge\nshipper_registry_failing 0.0\n"
    failing = fine.replace("0.0", "1.0")
    expect_alerts(
        tmp_path,
        [
            Phase(fine, 10),
            Phase(failing, 10, ["ShipperRegistryFailing"]),
            Phase(fine, 5),
            Phase("", 10, ["ShipperDown"]),
        ],
    )
    with pytest.raises(AssertionError, match="ShipperRegistryFailing"):
        expect_alerts(tmp_path, [Phase(failing, 10)])
