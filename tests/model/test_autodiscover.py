"""Which lines arrive when containers come and go."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from tests.containers import container
from tests.model.discovering import DiscoveringLab

A, B, C = (container(id=letter * 64) for letter in "abc")


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[DiscoveringLab]:
    lab = DiscoveringLab(tmp_path)
    yield lab
    lab.close()


def test_a_container_that_comes_is_read_from_its_first_line(lab: DiscoveringLab) -> None:
    lab.start()
    first = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(first, "one")
    second = lab.write(B, "two")
    lab.pass_time(30)
    assert lab.lines(lab.inode(second)) == [], "no container is known that has this file"
    lab.come(B)
    lab.expect_lines(second, "two")


def test_its_events_have_its_metadata(lab: DiscoveringLab) -> None:
    lab.start()
    metadata = {"kubernetes": {"pod": {"name": "web-1"}, "labels": {"app": "web"}}, "container": {"id": A.id}}
    name = lab.write(A, "one")
    lab.come(replace(A, metadata=metadata))
    lab.expect_lines(name, "one")
    (record,) = map(orjson.loads, lab.records)
    assert record["kubernetes"] == metadata["kubernetes"]
    assert record["container"] == metadata["container"]


def test_metadata_that_changes_applies_to_lines_that_come_then(lab: DiscoveringLab) -> None:
    lab.start()
    name = lab.write(A, "one")
    lab.come(replace(A, metadata={"kubernetes": {"labels": {"app": "web"}}}))
    lab.expect_lines(name, "one")
    lab.come(replace(A, metadata={"kubernetes": {"labels": {"app": "api"}}}))
    lab.pass_time(2)
    lab.write(A, "two")
    lab.expect_lines(name, "one", "two")
    assert [orjson.loads(record)["kubernetes"]["labels"]["app"] for record in lab.records] == ["web", "api"]


def test_no_input_is_disturbed_because_another_container_comes_or_goes(lab: DiscoveringLab) -> None:
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(name, "one")
    (harvester,) = lab.crawler.running.values()
    lab.come(B)
    lab.write(B, "two")
    lab.pass_time(2)
    lab.go(B)
    lab.pass_time(120)
    assert lab.input_ids == {f"c-{A.id}"}
    assert list(lab.crawler.running.values()) == [harvester]


def test_a_container_that_has_ended_is_read_to_its_end(lab: DiscoveringLab) -> None:
    lab.start()
    lab.destination.holding = True
    name = lab.write(A, "one", "two")
    lab.come(A)
    lab.pass_time(2)
    lab.go(A)
    lab.pass_time(600)
    assert lab.input_ids == {f"c-{A.id}"}, "nothing is acknowledged yet"
    lab.destination.holding = False
    lab.expect_lines(name, "one", "two")
    lab.pass_time(2)
    assert lab.input_ids == set()
    assert lab.discoveries.counts.inputs == lab.discoveries.counts.containers == 0


def test_it_stays_for_its_cleanup_timeout_at_least(lab: DiscoveringLab) -> None:
    lab.providers[0]["cleanup_timeout"] = "20s"
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.go(A)
    lab.expect_lines(name, "one")
    lab.pass_time(10)
    lab.write(A, "late")
    lab.expect_lines(name, "one", "late")
    lab.pass_time(30)
    assert lab.input_ids == set()


def test_a_log_that_was_rotated_when_its_container_ended_is_read_to_its_end(lab: DiscoveringLab) -> None:
    lab.start()
    lab.destination.holding = True  # and with it reading, when the queue is full
    name = lab.write(A, "one")
    lab.come(A)
    lab.pass_time(2)
    lab.append(name, "two\n")
    lab.rotate(name, to="0.log.20261125-101010")
    lab.write(A, "three")
    lab.go(A)
    lab.pass_time(100)
    lab.destination.holding = False
    lab.expect_lines("0.log.20261125-101010", "one", "two")
    lab.expect_lines(name, "three")
    lab.pass_time(30)
    assert lab.input_ids == set()


def test_a_log_that_is_deleted_with_its_container_is_read_to_its_end(lab: DiscoveringLab) -> None:
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(name, "one")
    inode = lab.inode(name)
    lab.append(name, "last\n")
    lab.remove(name)
    lab.go(A)
    lab.wait_until(lambda: not lab.input_ids, seconds=1)
    assert lab.lines(inode) == ["one", "last"]


def test_a_container_that_is_started_again_keeps_its_input(lab: DiscoveringLab) -> None:
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(name, "one")
    lab.go(A)
    lab.pass_time(30)
    lab.come(A)
    lab.pass_time(200)
    lab.write(A, "two")
    lab.expect_lines(name, "one", "two")


def test_a_container_that_comes_back_after_its_input_was_removed_continues(lab: DiscoveringLab) -> None:
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(name, "one")
    lab.go(A)
    lab.pass_time(100)
    assert lab.input_ids == set()
    lab.pass_time(3 * 24 * 3600.0, steps=100)
    lab.write(A, "two")
    lab.come(A)
    lab.expect_lines(name, "one", "two")


def test_after_a_restart_each_container_continues_where_it_was(lab: DiscoveringLab) -> None:
    lab.present = [A]
    name = lab.write(A, "one")
    lab.start()
    lab.expect_lines(name, "one")
    lab.stop()
    lab.write(A, "two")
    lab.start()
    lab.expect_lines(name, "one", "two")


def test_no_file_counts_as_missing_while_containers_are_not_known_yet(lab: DiscoveringLab) -> None:
    lab.inputs = [{"type": "filestream", "id": "other", "paths": [f"{lab.logs}/other.log"]}]
    lab.present = [A]
    name = lab.write(A, "one")
    lab.start()
    lab.expect_lines(name, "one")
    lab.stop()
    lab.write(A, "two")
    lab.present, lab.is_listed = [], False  # the server does not answer
    lab.start()
    lab.pass_time(500, steps=100)
    assert not lab.crawler._entries.unclaimed.states
    lab.fakes[0].is_listed = True
    lab.come(A)
    lab.expect_lines(name, "one", "two")


def test_the_same_configuration_for_two_containers_is_one_input(lab: DiscoveringLab) -> None:
    template = {"type": "log", "paths": [f"{lab.logs}/*.log"]}
    lab.providers[0]["templates"] = [{"config": [template]}]
    lab.start()
    name = lab.write(A, "one")
    lab.come(A)
    lab.expect_lines(name, "one")
    (harvester,) = lab.crawler.running.values()
    lab.come(B)
    lab.pass_time(5)
    assert len(lab.input_ids) == 1
    assert list(lab.crawler.running.values()) == [harvester]
    lab.go(A)
    lab.pass_time(200)
    assert len(lab.input_ids) == 1, "the other container has it"
    lab.go(B)
    lab.pass_time(200)
    assert lab.input_ids == set()


def test_two_providers_that_read_the_same_file_are_reported(
    lab: DiscoveringLab, caplog: pytest.LogCaptureFixture
) -> None:
    template = {
        "type": "filestream",
        "id": "d-${data.container.id}",
        "paths": [f"{lab.logs}/*-${{data.container.id}}.log"],
    }
    lab.providers.append({"type": "docker", "templates": [{"config": [template]}]})
    lab.start()
    lab.write(A, "one")
    lab.come(A)
    lab.come(replace(A, key="docker", label="container web"), provider=1)
    lab.wait_until(lambda: len(lab.messages) >= 2, seconds=1)
    lab.pass_time(20)
    assert lab.messages == ["one", "one"]
    warnings = [message for message in caplog.messages if "another input also reads files of input d-" in message]
    assert len(warnings) == 1


def test_sets_of_hints_read_the_same_file_on_purpose(lab: DiscoveringLab, caplog: pytest.LogCaptureFixture) -> None:
    default = {
        "type": "filestream",
        "id": "c-${data.container.id}",
        "paths": [f"{lab.logs}/*-${{data.container.id}}.log"],
    }
    lab.providers[0] = {"type": "kubernetes", "hints": {"enabled": True, "default_config": default}}
    hinted = container(id="a" * 64, **{"/1.include_lines": "^DBG", "/exclude_lines": "^DBG"})
    lab.present = [hinted]
    lab.start()
    lab.write(hinted, "DBG x", "one")
    lab.wait_until(lambda: len(lab.messages) >= 2, seconds=1)
    assert sorted(lab.messages) == ["DBG x", "one"]
    assert "another input" not in caplog.text
    lab.stop()
    lab.start()
    lab.write(hinted, "DBG y", "two")
    lab.wait_until(lambda: len(lab.messages) >= 4, seconds=1)
    lab.pass_time(20)
    assert sorted(lab.messages) == ["DBG x", "DBG y", "one", "two"]


def test_an_id_without_a_variable_is_made_one_of_each_container(lab: DiscoveringLab) -> None:
    template = {"type": "filestream", "id": "same", "paths": [f"{lab.logs}/*-${{data.container.id}}.log"]}
    lab.providers[0]["templates"] = [{"config": [template]}]
    lab.start()
    first, second = lab.write(A, "one"), lab.write(B, "two")
    lab.come(A, B)
    lab.expect_lines(first, "one")
    lab.expect_lines(second, "two")
    assert lab.input_ids == {"same", f"same-{B.id}"}


def test_a_wrong_configuration_is_logged_and_disturbs_no_other(
    lab: DiscoveringLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.providers[0] = {"type": "kubernetes", "hints.enabled": True}
    lab.start()
    lab.come(container(id="a" * 64, **{"/multiline.pattern": "["}), B)
    lab.pass_time(2)
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    (error,) = errors
    assert error.startswith(
        "pod default/web-1, container nginx: not read: annotation co.elastic.logs/multiline.pattern: "
    )
    assert lab.input_ids == {f"container-logs-{B.id}"}
    assert lab.discoveries.counts.refused == 1
    ((problem,),) = lab.discoveries.problems.values()
    assert problem.startswith("pod default/web-1, container nginx: annotation co.elastic.logs/multiline.pattern: ")


def test_what_a_hint_may_not_set_is_left_out_and_the_container_is_read(
    lab: DiscoveringLab, caplog: pytest.LogCaptureFixture
) -> None:
    lab.providers[0] = {"type": "kubernetes", "hints.enabled": True}
    lab.start()
    lab.come(container(id="a" * 64, **{"/processors.add_kubernetes_metadata.kube_config": "/var/log/pods/x/0.log"}))
    lab.pass_time(2)
    (warning,) = [record.getMessage() for record in caplog.records if "a hint must not" in record.getMessage()]
    annotation = "co.elastic.logs/processors.add_kubernetes_metadata.kube_config"
    refusal = "a hint must not use the processor add_kubernetes_metadata; allowed: add_fields, "
    assert warning.startswith(f"pod default/web-1, container nginx: annotation {annotation}: {refusal}")
    assert lab.input_ids == {f"container-logs-{'a' * 64}"}
    assert (lab.discoveries.counts.left_out, lab.discoveries.counts.refused) == (1, 0)


def test_an_input_of_the_configuration_keeps_its_id(lab: DiscoveringLab, caplog: pytest.LogCaptureFixture) -> None:
    lab.inputs = [{"type": "filestream", "id": f"c-{A.id}", "paths": ["/nowhere/x"]}]
    lab.start()
    lab.come(A)
    lab.pass_time(2)
    assert "its id is already used in the configuration" in caplog.text
    assert len(lab.input_ids) == 1
