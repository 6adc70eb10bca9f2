"""Files that several inputs match: each of them reads the file, as if the others were not there."""

from collections import Counter
from typing import Any

from tests.e2e.files.local import LocalAgent, older, rotate
from tests.e2e.files.test_reload import configure, hang_up
from tests.e2e.running import await_true


def an_input(agent: LocalAgent, name: str, pattern: str = "*.log*") -> dict[str, Any]:
    options = {"prospector.scanner.check_interval": "200ms", "fields": {"input": name}}
    return {"type": "filestream", "id": name, "paths": [str(agent.logs / pattern)], **options}


def arrived(agent: LocalAgent) -> list[tuple[str, str]]:
    """Return the input and the message of each event, without repeats."""
    return sorted((event["fields"]["input"], event["message"]) for event in agent.events)


def by_each(*messages: str, inputs: tuple[str, ...] = ("one", "two")) -> list[tuple[str, str]]:
    return sorted((name, message) for name in inputs for message in messages)


def await_arrived(agent: LocalAgent, *expected: tuple[str, str]) -> None:
    await_true(lambda: set(expected) <= set(arrived(agent)), f"{expected}, has {arrived(agent)}")


def expect(agent: LocalAgent, expected: list[tuple[str, str]]) -> None:
    """Run it once more: then these have arrived, each once."""
    assert agent.once() == 0
    assert arrived(agent) == sorted(expected)
    assert Counter(agent.all) == Counter(message for _, message in expected)


def test_each_of_two_inputs_reads_a_file_under_an_id_of_its_own_also_after_a_restart(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "one"), an_input(agent, "two", "app.log"))
    agent.append("a", "b")
    agent.append("only one", path=agent.logs / "web.log")
    agent.start()
    await_arrived(agent, *by_each("a", "b"), ("one", "only one"))
    assert len({event["log"]["file"]["id"] for event in agent.events}) == 3
    assert agent.stop() == 0
    agent.append("c")
    expect(agent, [*by_each("a", "b", "c"), ("one", "only one")])


def test_a_rotation_is_followed_by_each_of_them(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "one"), an_input(agent, "two"))
    agent.append("a")
    agent.start()
    await_arrived(agent, *by_each("a"))
    rotate(agent.path)
    agent.append("b")
    agent.append("late", path=older(agent.path))
    await_arrived(agent, *by_each("a", "b", "late"))
    assert agent.stop() == 0
    rotate(agent.path)
    expect(agent, by_each("a", "b", "late"))


def test_an_input_that_comes_by_a_reload_reads_the_files_that_another_one_reads(agent: LocalAgent) -> None:
    one, two = an_input(agent, "one"), an_input(agent, "two")
    configure(agent, one)
    agent.append("a")
    agent.start()
    await_arrived(agent, ("one", "a"))
    configure(agent, one, two)
    hang_up(agent)
    await_arrived(agent, ("two", "a"))
    configure(agent, one)
    hang_up(agent)
    agent.await_log("1 input removed")
    agent.append("b")
    await_arrived(agent, ("one", "b"))
    configure(agent, one, two)
    hang_up(agent)
    await_arrived(agent, *by_each("a", "b"))
    agent.append("c")
    await_arrived(agent, *by_each("c"))
    assert agent.stop() == 0
    expect(agent, by_each("a", "b", "c"))


def test_an_input_that_was_removed_resumes_where_it_was_when_it_is_back(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "one"), an_input(agent, "two"))
    agent.append("a")
    expect(agent, by_each("a"))
    configure(agent, an_input(agent, "two"))
    agent.append("b")
    expect(agent, [*by_each("a"), ("two", "b")])
    configure(agent, an_input(agent, "two"), an_input(agent, "one"))
    agent.append("c")
    expect(agent, by_each("a", "b", "c"))


def test_an_input_with_another_name_reads_the_files_as_new_ones(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "two"))
    agent.append("a")
    expect(agent, by_each("a", inputs=("two",)))
    configure(agent, an_input(agent, "three"))
    agent.append("b")
    assert agent.once() == 0
    assert arrived(agent) == sorted([("two", "a"), *by_each("a", "b", inputs=("three",))])


def test_an_input_with_another_name_may_take_over_what_the_one_before_has_read(agent: LocalAgent) -> None:
    configure(agent, an_input(agent, "one"), an_input(agent, "two"))
    agent.append("a")
    expect(agent, by_each("a"))
    taking = an_input(agent, "three") | {"take_over": {"enabled": True, "from_ids": ["two"]}}
    for _ in range(2):
        configure(agent, an_input(agent, "one"), taking)
        assert agent.once() == 0
        assert arrived(agent) == sorted(by_each("a"))
    agent.append("b")
    assert agent.once() == 0
    assert arrived(agent) == sorted([*by_each("a"), *by_each("b", inputs=("one", "three"))])


def test_an_input_reads_what_another_one_reads_as_soon_as_its_paths_have_changed(agent: LocalAgent) -> None:
    web = an_input(agent, "two", "web*.log")
    configure(agent, an_input(agent, "one", "app*.log"), web)
    agent.append("a")
    agent.append("w", path=agent.logs / "web.log")
    agent.start()
    await_arrived(agent, ("one", "a"), ("two", "w"))
    configure(agent, an_input(agent, "one", "*.log"), web)
    hang_up(agent)
    await_arrived(agent, ("one", "w"))
    agent.append("x", path=agent.logs / "web.log")
    await_arrived(agent, ("one", "x"), ("two", "x"))
    assert agent.stop() == 0
    expect(agent, [("one", "a"), ("one", "w"), ("one", "x"), ("two", "w"), ("two", "x")])


def test_a_file_is_deleted_when_each_input_has_read_it(agent: LocalAgent) -> None:
    deleting = an_input(agent, "one") | {"delete": {"enabled": True, "grace_period": 0}, "close.reader.on_eof": True}
    limited = an_input(agent, "two") | {"harvester_limit": 1, "close.on_state_change.inactive": "2s"}
    configure(agent, deleting, limited)
    names = [agent.logs / f"{number}.log" for number in range(3)]
    for number, path in enumerate(names):
        agent.append(f"line {number}", path=path)
    agent.start()
    await_arrived(agent, *by_each(*(f"line {number}" for number in range(3))))
    await_true(lambda: not any(path.exists() for path in names), "all are deleted")
    assert agent.stop() == 0
