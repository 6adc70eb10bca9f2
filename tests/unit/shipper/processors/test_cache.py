"""The processor `cache` and its caches."""

import json
import os
import time
from pathlib import Path

import pytest

from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Doc
from log_shipper.shipper.processor.caches import ENTRY_BYTES, Cache, Caches
from log_shipper.shipper.processor.fields import MISSING
from tests.fakes import ManualClock
from tests.processing import batch_of, chain_of, records, without_noise

MEMORY = "backend.memory.id: hosts"
PUT = f"- cache: {{{MEMORY}, put: {{key_field: id, value_field: meta, ttl: 1h}}}}"
GET = f"- cache: {{{MEMORY}, get: {{key_field: id, target_field: target}}}}"
DELETE = f"- cache: {{{MEMORY}, delete: {{key_field: id}}}}"


class CacheLab:
    """Processors that share the caches of one agent."""

    def __init__(self, directory: Path | None = None) -> None:
        self.clock = ManualClock()
        self.caches = Caches(self.clock, directory)

    def run(self, processor: str, event: Doc) -> Doc:
        of = batch_of([{"message": "x", **event}])
        chain_of(processor, clock=self.clock, caches=self.caches)(of)
        (record,) = records(of)
        return without_noise(record)


def test_a_value_of_one_event_is_added_to_another() -> None:
    lab = CacheLab()
    lab.run(PUT, {"id": "a", "meta": {"zone": [1, 2]}})
    event = {"id": "a"}
    made = lab.run(GET.replace("target_field: target", "target_field: b.c"), event)
    assert made == {"message": "x", "id": "a", "b": {"c": {"zone": [1, 2]}}}


def run_all(text: str, events: list[Doc]) -> list[Doc]:
    of = batch_of(events)
    chain_of(text)(of)
    return [without_noise(record) for record in records(of)]


IGNORING = f"{GET[:-1]}, ignore_failure: true}}"


def test_a_value_is_not_given_to_an_event_before_the_one_that_has_it() -> None:
    events: list[Doc] = [{"id": "a"}, {"id": "a", "meta": 1}, {"id": "a"}, {"id": "a", "meta": 2}, {"id": "a"}]
    targets = [record.get("target") for record in run_all(f"{PUT}\n{IGNORING}", events)]
    assert targets == [None, 1, 1, 2, 2]
    targets = [record.get("target") for record in run_all(f"{IGNORING}\n{PUT}", events)]
    assert targets == [None, None, 1, 1, 2]


@pytest.mark.parametrize("which", ["then", "else"])
def test_the_order_of_events_decides_between_branches_too(which: str) -> None:
    put, get = PUT.removeprefix("- "), IGNORING.removeprefix("- ")
    condition = "{has_fields: [meta]}" if which == "then" else "{not: {has_fields: [meta]}}"
    then, otherwise = (put, get) if which == "then" else (get, put)
    text = f"- if: {condition}\n  then:\n  - {then}\n  else:\n  - {otherwise}"
    events: list[Doc] = [{"id": "a"}, {"id": "a", "meta": 1}, {"id": "a"}, {"id": "a", "meta": 2}, {"id": "a"}]
    assert [record.get("target") for record in run_all(text, events)] == [None, None, 1, None, 2]


def test_what_is_between_two_uses_of_a_cache_sees_the_events_in_turn_too() -> None:
    text = f"{IGNORING}\n- drop_event.when.has_fields: [target]\n- add_tags.tags: [first]\n{PUT}"
    events: list[Doc] = [{"id": "a", "meta": 1}, {"id": "b", "meta": 2}, {"id": "a", "meta": 3}, {"id": "c"}]
    assert [(record["id"], record["tags"]) for record in run_all(text, events)] == [
        ("a", ["first"]),
        ("b", ["first"]),
        ("c", ["first"]),
    ]


def test_a_value_expires() -> None:
    lab = CacheLab()
    lab.run(PUT, {"id": "a", "meta": 1})
    lab.clock.advance(3599)
    assert lab.run(GET, {"id": "a"})["target"] == 1
    lab.clock.advance(1)
    error = lab.run(GET, {"id": "a"})["error"]
    assert error == {"message": "the cache has no value for id 'a'", "type": "cache"}


def test_a_value_can_be_removed() -> None:
    lab = CacheLab()
    lab.run(PUT, {"id": "a", "meta": 1})
    lab.run(DELETE, {"id": "a"})
    lab.run(DELETE, {"id": "a"})
    assert "error" in lab.run(GET, {"id": "a"})


def test_an_existing_field_is_kept_unless_it_may_be_overwritten() -> None:
    lab = CacheLab()
    lab.run(PUT, {"id": "a", "meta": 1})
    get = GET.replace("target_field: target", "target_field: meta")
    kept = lab.run(get, {"id": "a", "meta": 2})
    assert (kept["meta"], kept["error"]["message"]) == (
        2,
        "field meta already exists; drop it first, or set overwrite_keys",
    )
    assert lab.run(get[:-1] + ", overwrite_keys: true}", {"id": "a", "meta": 2})["meta"] == 1


@pytest.mark.parametrize("processor", [PUT, GET, DELETE])
def test_a_missing_key_is_an_error_if_that_is_wanted(processor: str) -> None:
    lab = CacheLab()
    assert "error" not in lab.run(processor, {})
    strict = processor[:-1] + ", ignore_missing: false}"
    assert lab.run(strict, {})["error"]["message"] == "field id is missing"
    assert lab.run(processor, {"id": 7, "meta": 1})["error"]["message"] == "the key id is not a string"


def test_errors_can_be_ignored() -> None:
    assert "error" not in CacheLab().run(GET[:-1] + ", ignore_failure: true}", {"id": "a"})


def test_caches_of_other_names_are_other_caches() -> None:
    lab = CacheLab()
    lab.run(PUT, {"id": "a", "meta": 1})
    assert "error" in lab.run(GET.replace("hosts", "users"), {"id": "a"})


def test_a_value_that_an_event_changes_stays_in_the_cache_as_it_was() -> None:
    lab = CacheLab()
    lab.run(PUT + "\n- add_fields: {target: meta, fields: {b: 2}}", {"id": "a", "meta": {"b": 1}})
    get = GET + "\n- add_fields: {target: target, fields: {b: 3}}"
    assert lab.run(get, {"id": "a"})["target"] == {"b": 3}
    assert lab.run(GET, {"id": "a"})["target"] == {"b": 1}


def full(capacity: int = 0, most_bytes: int = 10**9) -> tuple[Cache, ManualClock]:
    clock = ManualClock()
    cache = Cache(clock)
    cache.set_limits(capacity, most_bytes)
    return cache, clock


def test_what_expires_first_is_removed_for_new_entries() -> None:
    cache, _ = full(capacity=2)
    cache.put("short", 1, ttl=1.0)
    cache.put("long", 2, ttl=9.0)
    cache.put("short", 3, ttl=5.0)
    cache.put("new", 4, ttl=7.0)
    assert list(cache.entries) == ["long", "new"]


def test_memory_is_bounded_without_a_capacity() -> None:
    cache, _ = full(most_bytes=100 * ENTRY_BYTES)
    for number in range(10_000):
        cache.put(f"key-{number}", "x" * (number % 500), ttl=60.0)
    assert 10 < len(cache.entries) <= 100
    assert cache.get("key-9999") == "x" * (9999 % 500)
    cache.put("large", "x" * 200 * ENTRY_BYTES, ttl=90.0)
    assert cache.entries == {}


def test_entries_that_have_expired_are_freed() -> None:
    cache, clock = full()
    for number in range(1000):
        cache.put(str(number), number, ttl=10.0)
    clock.advance(11)
    cache.put("new", 1, ttl=10.0)
    assert list(cache.entries) == ["new"]


def test_a_key_that_is_put_again_and_again_takes_no_more_memory() -> None:
    cache, _ = full()
    for number in range(10_000):
        cache.put("key", number, ttl=10.0 + number)
    assert cache.get("key") == 9999
    assert len(cache._expiring) < 1000


FILE = "backend.file.id: ../hosts/a"
FILE_PUT, FILE_GET = PUT.replace(MEMORY, FILE), GET.replace(MEMORY, FILE)


def test_a_cache_in_a_file_survives_a_restart(tmp_path: Path) -> None:
    lab = CacheLab(tmp_path / "caches")
    lab.run(FILE_PUT, {"id": "a\ud800é", "meta": {"b": "ü\ud800"}})
    lab.caches.close()
    (file,) = (tmp_path / "caches").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    again = CacheLab(tmp_path / "caches")
    assert again.run(FILE_GET, {"id": "a\ud800é"})["target"] == {"b": "ü?"}


def test_what_has_expired_is_not_read_from_a_file(tmp_path: Path) -> None:
    lab = CacheLab(tmp_path)
    lab.run(FILE_PUT, {"id": "a", "meta": 1})
    lab.caches.close()
    again = CacheLab(tmp_path)
    again.clock.advance(3600)
    assert again.caches.in_file("../hosts/a", 0).get("a") is MISSING


def test_an_unchanged_cache_is_not_written(tmp_path: Path) -> None:
    lab = CacheLab(tmp_path)
    lab.run(FILE_PUT, {"id": "a", "meta": 1})
    lab.caches.close()
    (file,) = tmp_path.iterdir()
    before = file.stat().st_ino
    again = CacheLab(tmp_path)
    again.run(FILE_GET, {"id": "a"})
    again.caches.close()
    assert file.stat().st_ino == before


def test_a_damaged_line_of_a_file_loses_its_entry_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expires = ManualClock().time() + 60
    lines = ["{", json.dumps({"key": "a", "val": 1, "expires": expires}), "[]", '{"key": "b"}']
    (tmp_path / "hosts.ndjson").write_text("\n".join(lines))
    cache = CacheLab(tmp_path).caches.in_file("hosts", 0)
    assert list(cache.entries) == ["a"]
    assert [record.getMessage().partition(": ")[2][:6] for record in caplog.records] == ["line 1", "line 3", "line 4"]


def test_a_directory_that_cannot_be_used_is_an_error_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"cannot use .*hosts\.ndjson"):
        CacheLab(tmp_path / "file").caches.in_file("hosts", 0)


def test_a_file_that_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lab = CacheLab(tmp_path)
    lab.run(FILE_PUT, {"id": "a", "meta": 1})
    (tmp_path / "..%2Fhosts%2Fa.ndjson").mkdir()
    lab.caches.close()
    assert "cannot write the cache file" in caplog.text


def test_a_file_is_written_while_the_agent_runs(tmp_path: Path) -> None:
    lab = CacheLab(tmp_path)
    lab.run(FILE_PUT.replace(FILE, f"{FILE}, backend.file.write_interval: 10ms"), {"id": "a", "meta": 1})
    file = tmp_path / "..%2Fhosts%2Fa.ndjson"
    deadline = time.monotonic() + 30
    while not file.exists() and time.monotonic() < deadline:
        os.sched_yield()
    assert json.loads(file.read_text())["key"] == "a", "before the end, which writes it, too"
    lab.caches.close()
