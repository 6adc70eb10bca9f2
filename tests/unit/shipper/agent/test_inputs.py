"""What inputs have of their own and in common; tests/model/test_reload.py has what a reload does to them."""

import time
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from log_shipper.config.yaml.load import load
from log_shipper.registry.registrar import Registrar
from log_shipper.shipper.agent.inputs import AnyInput, InputFactory
from log_shipper.shipper.agent.static_fields import static_fields
from log_shipper.shipper.metrics import Metrics
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.processor.base import ProcessorContext
from log_shipper.shipper.processor.caches import Caches
from tests.builders import AGENT, batch, source
from tests.fakes import ManualClock
from tests.processing import records


class Forgets:
    """The registrar of a test in which nothing is read."""

    def note(self, *states: object) -> None:
        pass


@pytest.fixture
def inputs(tmp_path: Path) -> InputFactory:
    return InputFactory(
        ProcessorContext(AGENT, tmp_path, Metrics(), ManualClock(), Caches(ManualClock())), cast("Registrar", Forgets())
    )


def read(folder: Path, own: str = "[]", of_all: str = "[]", more: str = "") -> ShipperConfig:
    items = "\n".join(f"- {{type: filestream, id: {each}, paths: [/x], processors: {own}}}" for each in ("a", "b"))
    (file := folder / "shipper.yml").write_text(
        f"filebeat.inputs:\n{items}\n{more}\nprocessors: {of_all}\noutput.console: {{}}\n"
    )
    return load(file, ShipperConfig, env={})


def passing(source: AnyInput) -> int:
    """How many of five messages its processors let through."""
    assert source.process
    source.process(each := batch("12345"))
    return len(each.messages.texts)


def test_an_input_that_stays_is_found_among_thousands(inputs: InputFactory, tmp_path: Path) -> None:
    """Some 15 us each; each was compared with all others: 0.6 ms of 3,000."""
    config = read(tmp_path)
    (first, _) = config.inputs
    many = replace(config, inputs=tuple(replace(first, id=str(number)) for number in range(3000)))
    before = inputs.build(many)
    changed = replace(many, inputs=(*many.inputs[:-1], replace(first, id="other")))
    start = time.process_time()
    after = inputs.build(changed)
    assert time.process_time() - start < 1
    assert [each is other for each, other in zip(before, after, strict=True)] == [True] * 2999 + [False]


LIMIT = "[{rate_limit: {limit: 3/h}}]"


def test_a_limit_of_all_inputs_is_one_and_a_limit_of_an_input_its_own(inputs: InputFactory, tmp_path: Path) -> None:
    assert [passing(each) for each in inputs.build(read(tmp_path, of_all=LIMIT))] == [3, 0]
    assert [passing(each) for each in inputs.build(read(tmp_path, own=LIMIT))] == [3, 3]


def test_processors_of_all_inputs_are_those_that_were_as_long_as_nothing_is_changed_in_them(
    inputs: InputFactory, tmp_path: Path
) -> None:
    first = inputs.build(read(tmp_path, of_all=LIMIT))
    assert passing(first[0]) == 3
    added = inputs.build(read(tmp_path, of_all=LIMIT, more="- {type: filestream, id: c, paths: [/y]}"))
    assert (added[0], passing(added[2])) == (first[0], 0)
    changed = inputs.build(read(tmp_path, of_all=LIMIT.replace("3", "4")))
    assert passing(changed[1]) == 4


def test_fields_of_all_inputs_and_of_an_input_are_merged_member_by_member(inputs: InputFactory, tmp_path: Path) -> None:
    config = read(
        tmp_path, more="- {type: log, paths: [/y], fields: {team: {name: b}}}\nfields: {team: {name: a, no: 1}}"
    )
    *_, added = inputs.build(config)
    assert added.static == {"fields": {"team": {"name": "b", "no": 1}}}


def test_what_an_input_has_read_is_counted_over_a_reload_that_changes_it(inputs: InputFactory, tmp_path: Path) -> None:
    before, _ = inputs.build(read(tmp_path))
    before.counts.events_read += 5
    after, other = inputs.build(read(tmp_path, own="[{drop_fields: {fields: [x]}}]"))
    assert after is not before
    assert (after.counts.events_read, other.counts.events_read) == (5, 0)


def test_what_elasticsearch_needs_is_metadata_of_each_event(inputs: InputFactory, tmp_path: Path) -> None:
    (file := tmp_path / "shipper.yml").write_text(
        "filebeat.inputs:\n- {id: a, paths: [/x], pipeline: geoip, index: 'app-%{[fields.team]}', fields.team: web}\n"
        "output.console: {}\n"
    )
    (made,) = inputs.build(load(file, ShipperConfig, env={}))
    assert made.process
    made.process(of := replace(batch(["a"]), source=source(static=made.static)))
    (record,) = records(of)
    assert record["@metadata"] == {"pipeline": "geoip", "raw_index": "app-web"}


def test_a_text_as_host_is_left_out_of_the_fields_of_events(tmp_path: Path) -> None:
    config = read(tmp_path, more="fields_under_root: true\nfields: {host: x, env: prod}")
    assert static_fields(config.inputs[0], config) == {"env": "prod"}
