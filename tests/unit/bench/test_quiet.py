from datetime import date

from bench.contenders import Contender
from bench.quiet import Spans, head, notes


def test_the_section_begins_with_the_command_and_the_day() -> None:
    title, _, command, *_ = head(3, Spans(12.0, 30.0), date(2026, 11, 6)).splitlines()
    assert title.startswith("## ")
    assert command.startswith("`script/bench --quiet --rounds 3`, 6 November 2026, ")


def test_what_the_machine_does_not_have_is_named() -> None:
    names = ("shipper", "rsyslog 8.2302", "Vector 0.55")
    agents = [Contender(name, lambda job: [], exits=False, follows=True) for name in names]
    assert notes(agents).endswith("not installed: Filebeat, Fluent Bit, OpenTelemetry.")
