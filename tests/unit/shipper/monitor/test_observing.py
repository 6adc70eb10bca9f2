"""Snapshots of a real agent, taken between its steps: what a person would count by hand."""

from functools import partial

import pytest

from log_shipper.shipper.inputs.files.crawler import Crawler
from log_shipper.shipper.kubernetes.access import ApiAccess
from log_shipper.shipper.kubernetes.cluster import Cluster, Waking
from log_shipper.shipper.kubernetes.objects import pod_of
from log_shipper.shipper.kubernetes.watcher import ClusterWatcher, WatchScope
from log_shipper.shipper.monitor.filebeat_stats import stats
from log_shipper.shipper.monitor.observing import take_snapshot
from log_shipper.shipper.monitor.snapshot import Snapshot
from log_shipper.shipper.monitor.status import AgentIdentity
from log_shipper.shipper.options.conditions import ConditionConfig
from log_shipper.shipper.parsers.multiline import MultilineConfig
from log_shipper.shipper.processors.drop_event import DropEventConfig
from tests.kubernetes_api import pod
from tests.lab import Lab


def snapshot(lab: Lab, *, reached: bool = False, before: Snapshot | None = None) -> Snapshot:
    return take_snapshot(lab.running, lab.clock, None, reached=lambda: reached, before=before)


def test_an_idle_agent_is_at_rest(lab: Lab) -> None:
    lab.flush = 3600.0  # or the registrar's thread could be about to count what it has just saved
    lab.ship("a.log", "one", "two")
    lab.calm_down()
    taken = snapshot(lab)
    assert (taken.metrics.events_read, taken.metrics.events_acked, taken.metrics.bytes_acked) == (2, 2, 8)
    assert (taken.files_open, taken.behind, taken.oldest, list(taken.files)) == (1, 0, None, [])
    (figures,) = taken.inputs
    assert (figures.id, figures.type, figures.events_read, figures.bytes_read) == ("app", "filestream", 2, 8)
    assert (figures.files_open, figures.behind, figures.oldest) == (1, 0, None)
    assert (taken.queue.events, taken.output.batches_in_flight, taken.output.reached) == (0, 0, True)
    assert (taken.registry.entries, taken.registry.failing, taken.problems) == (1, False, {})
    assert taken.registry.saved == taken.registry.fsync.count > 0
    assert taken.produce.count == taken.metrics.events_acked / 2, "one batch"


def test_files_are_looked_at_once_something_was_read_since_all_were_idle(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.calm_down()
    idle = snapshot(lab)
    (harvester,) = lab.crawler.running.values()
    harvester.at_end = False  # which a read would have changed
    lab.append("a.log", "no end")
    assert (snapshot(lab, before=idle).behind, snapshot(lab).behind) == (0, len("no end"))
    lab.calm_down()
    assert snapshot(lab, before=idle).behind == len("no end")


def test_what_is_in_flight_is_behind_and_grows_older(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.clock.advance(7)
    lab.append("a.log", "three\n")
    taken = snapshot(lab)
    (lag,) = taken.files
    assert (lag.path, lag.input_id, lag.behind) == (str(lab.logs / "a.log"), "app", 10)
    assert lag.oldest == pytest.approx(7, abs=1)
    assert (taken.behind, taken.oldest, taken.inputs[0].oldest) == (10, lag.oldest, lag.oldest)
    assert (taken.queue.events, taken.output.batches_in_flight) == (1, 1)
    lab.destination.holding = False
    lab.wait_until(lambda: snapshot(lab).behind == 0)


def test_a_message_that_waits_for_its_next_line_is_behind(lab: Lab) -> None:
    lab.parsers = (MultilineConfig(pattern="^ ", match="after"),)
    lab.append("a.log", "one\nthe last\n with two lines\n")
    lab.append("b.log", "no end")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_acked == 1)
    assert {lag.path.rpartition("/")[2]: lag.behind for lag in snapshot(lab).files} == {"a.log": 25, "b.log": 6}
    lab.clock.advance(6)
    lab.wait_until(lambda: lab.running.metrics.events_acked == 2)
    assert snapshot(lab).behind == len("no end")


def test_lines_that_are_pending_are_behind_in_the_log_too(lab: Lab) -> None:
    lab.parsers = (MultilineConfig(pattern="^ ", match="after"),)
    lab.append("a.log", "one\ntwo\n")
    lab.append("b.log", "one\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_acked == 1)
    lab.append("a.log", " joined\n")
    lab.append("b.log", " no end")
    lab.wait_until(lambda: all(harvester.read_to >= 11 for harvester in lab.crawler.running.values()))
    behind = len("two\n joined\n") + len("one\n no end")
    assert (lab.running.sources.status().bytes_behind, snapshot(lab).behind) == (behind, behind)


def test_the_oldest_batch_counts_until_it_is_acknowledged(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.destination.holding = True
    for number in range(3):
        lab.append("a.log", f"{number}\n")
        lab.wait_until(lambda number=number: lab.destination.in_flight > number)  # type: ignore[misc]
        lab.clock.advance(10)
    lab.destination.arrive()
    lab.destination.acknowledge([1, 2])
    oldest = snapshot(lab).oldest
    assert oldest is not None
    assert oldest == pytest.approx(30, abs=1)
    lab.destination.acknowledge()
    assert snapshot(lab).oldest is None


def test_files_that_are_not_read_as_the_queue_is_full_are_behind(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.calm_down()
    queue = lab.running.pipeline.queue
    queue.events = queue.max_events
    lab.append("a.log", "two\n")
    assert snapshot(lab).behind == 4, "the reader has not seen it"
    queue.events = 0


def test_a_closed_file_with_batches_in_flight_counts_too(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.destination.holding = True
    lab.append("a.log", "two\n")
    lab.wait_until(lambda: lab.destination.in_flight)
    lab.truncate("a.log")
    lab.wait_until(lambda: lab.crawler.files.draining, seconds=1)
    taken = snapshot(lab)
    assert [lag.oldest is not None for lag in taken.files] == [True]
    lab.destination.holding = False


def test_the_twenty_files_furthest_behind_are_named_and_all_are_counted(lab: Lab) -> None:
    lab.start()
    lab.destination.holding = True
    for number in range(1, 31):
        lab.append(f"{number}.log", "x" * number + "\n")
    lab.wait_until(lambda: lab.running.metrics.events_read == 30, seconds=1)
    taken = snapshot(lab)
    assert [lag.behind for lag in taken.files] == [*range(31, 11, -1)]
    assert taken.behind == sum(range(2, 32))
    lab.destination.holding = False


def test_a_file_that_cannot_be_read_is_a_problem(lab: Lab) -> None:
    lab.start()
    lab.crawler.problems.of_file("/var/log/x", "permission denied")
    assert snapshot(lab).problems == {"/var/log/x": "permission denied"}


def test_a_pattern_that_no_file_matches_is_none(lab: Lab) -> None:
    """On most hosts some program is not installed: the state would be degraded there permanently."""
    lab.start()
    lab.crawler.problems.report_scan("app", {"/d": "denied"}, {"/g/*.log": "there is no directory /g"})
    assert snapshot(lab).problems == {"/d": "denied"}


def test_a_rejected_event_is_a_row_with_its_place(lab: Lab) -> None:
    lab.refuse = "bad"
    lab.append("a.log", "good\nbad\nbad\n")
    lab.start()
    lab.wait_until(lambda: lab.running.metrics.events_dead_lettered == 2)
    (row,) = snapshot(lab).letters
    assert (row.reason, row.count, row.path, row.offset) == (
        "refused permanently",
        2,
        str(lab.logs / "a.log"),
        9,
    )
    assert snapshot(lab).letters_waiting == 0


def test_watches_are_counted(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.calm_down()
    taken = snapshot(lab)
    assert (taken.watches, taken.watch_fallbacks) == (2, 0), "the file and its directory"


def test_an_agent_without_watches_has_fallbacks(lab: Lab) -> None:
    lab.ship("a.log", "one")
    crawler: Crawler = lab.crawler
    crawler._watcher._inotify = None
    lab.append("b.log", "two\n")
    lab.scan(2)
    taken = snapshot(lab)
    assert (taken.files_open, taken.watch_fallbacks) == (2, 1)


def test_a_loop_that_does_not_step_is_silent(lab: Lab) -> None:
    lab.start()
    lab.step()
    lab.clock.advance(40)
    assert snapshot(lab).silent == pytest.approx(40, abs=0.1)


def test_a_destination_that_cannot_be_out_of_reach_is_reached(lab: Lab) -> None:
    lab.start()
    assert snapshot(lab, reached=False).output.reached


def test_a_disk_that_refuses_the_output_is_a_failure_in_words(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.destination.problem = "cannot write to out.json: No space left on device"
    output = snapshot(lab).output
    assert (output.failing, output.problem) == (True, lab.destination.problem)


def test_pods_and_watches_of_all_clusters_are_counted(lab: Lab) -> None:
    lab.start()
    assert snapshot(lab).kubernetes is None
    clusters = []
    for number in range(2):
        waking = Waking(lambda: None)
        watcher = ClusterWatcher(WatchScope(node="n1"), ApiAccess("localhost", 1, "the test"), lab.clock, waking)
        watcher.pods.store(pod_of(pod("web-1")))
        counts = watcher.watches["pods"].counts
        counts.lists, counts.events, counts.errors = 1, 10, {"timeout": 1, f"other-{number}": 1}
        options = ("kubernetes", number)
        clusters.append(lab.running.services.shared(options, partial(Cluster, watcher, waking)))
    taken = snapshot(lab).kubernetes
    assert taken is not None
    assert (taken.pods, taken.lists, taken.events) == (2, 2, 20)
    assert taken.errors == {"timeout": 2, "other-0": 1, "other-1": 1}
    clusters.clear()
    assert snapshot(lab).kubernetes is None


def test_an_agent_is_silent_that_neither_begins_a_step_nor_makes_progress_within_one(lab: Lab) -> None:
    lab.ship("a.log", "one")
    lab.clock.advance(40)
    assert snapshot(lab).silent >= 40
    lab.running.pulse.beat()
    assert snapshot(lab).silent == 0
    lab.clock.advance(7)
    assert snapshot(lab).silent == 7


def test_lines_that_readers_drop_are_not_taken_off_the_published_events(lab: Lab) -> None:
    error = ConditionConfig(contains={"message": "ERROR 1"})
    lab.input = {"include_lines": ("ERROR",), "processors": (DropEventConfig(when=error),)}
    lab.append("a.log", "INFO 1\nINFO 2\nINFO 3\nERROR 1\nERROR 2\n")
    lab.start()
    lab.calm_down()
    figures = stats(AgentIdentity("web-1", "host-1", "4f1c", "0.3.0", 0.0), "e1", snapshot(lab))
    events = figures["libbeat"]["pipeline"]["events"]
    assert [events[name] for name in ("total", "filtered", "published")] == [5, 4, 1]
