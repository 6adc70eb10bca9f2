"""`shipper dead-letter resend`: a consumer with read_committed sees each letter once, whatever is killed, and when."""

import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from confluent_kafka.admin import ResourceType  # type: ignore[attr-defined]  # public, but imported there without `as`

from demo.broker import Broker
from demo.process import SHIPPER_PROGRAM
from log_shipper.shipper.cli.resend import REGISTRY
from log_shipper.shipper.letters.letter_box import DONE, LetterBox
from tests.e2e.rights import forbidden
from tests.e2e.running import PATIENCE, REPOSITORY, Agent, Topic, await_true, frozen, unless_kafka_lost_an_end

pytestmark = pytest.mark.kafka

LETTERS = 2000
TRIES = 3  # to catch a run in its midst


def make_letters(agent: Agent, number: int) -> list[str]:
    """Return the messages of letters that are in the file now; their topic is what was wrong."""
    messages = [f"letter {index}" for index in range(number)]
    agent.send_to(topic="%{[app]}")
    agent.append(*messages)
    assert agent.once() == 3
    agent.send_to(topic=agent.topic)
    return messages


@contextmanager
def resend(agent: Agent, *arguments: str, before: tuple[str, ...] = ()) -> Iterator["subprocess.Popen[str]"]:
    """Start the process, and kill it at the end of the block if it still runs."""
    config = agent.data.parent / "shipper.yml"
    command = [*before, *SHIPPER_PROGRAM, "dead-letter", "resend", *arguments, "-c", str(config)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def output_of(process: "subprocess.Popen[str]", code: int = 0) -> str:
    text, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, text
    return text


def expect_once(topic: Topic, messages: list[str], never_ends: Callable[[], bool] = lambda: False) -> None:
    topic.read_to_end(never_ends=never_ends)
    assert Counter(record.value["message"] for record in topic.records) == Counter(messages)


def is_killed(agent: Agent, topic: Topic, seconds: float) -> bool:
    """Kill a run so long after it has sent something; False if it has sent all by then."""
    with resend(agent) as process:
        seen, deadline = len(topic.records), time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            topic.read(0.01)
            if len(topic.records) > seen:
                deadline, seen = time.monotonic() + seconds, sys.maxsize
        assert process.poll() in (None, 0, 3), process.communicate()
        return process.poll() is None


def kill_runs(agent: Agent, topic: Topic, make: Callable[[], list[str]], *pauses: float) -> list[str]:
    """Kill a run so many seconds after it has sent something, for each of `pauses`. Where this process was so slow that
    a run has sent all, there are letters again. Return the messages of all letters."""
    messages = make()
    for pause in pauses:
        for _ in range(TRIES):
            if is_killed(agent, topic, pause):
                break
            messages += make()
        else:
            raise AssertionError("each run has sent all before it could be killed")
    return messages


def test_each_letter_is_sent_once_though_it_is_killed_again_and_again(agent: Agent, topic: Topic) -> None:
    dice = random.Random(20261123)
    pauses = [dice.uniform(0, 0.1) for _ in range(4)]
    messages = kill_runs(agent, topic, lambda: make_letters(agent, 4 * LETTERS), *pauses)
    with resend(agent) as process:
        output_of(process)
    expect_once(topic, messages)
    assert not list(agent.data.glob("dead_letter*"))


def test_what_was_committed_but_not_noted_on_disk_is_not_sent_again(agent: Agent, topic: Topic) -> None:
    messages = make_letters(agent, 150)
    mebibyte = 1024**2  # the registry is smaller
    (agent.data / DONE).write_text(f"{'0' * 15}\n" * (mebibyte // 16 - 1))
    with resend(agent, before=("prlimit", f"--fsize={mebibyte}")) as process:  # as on a full disk
        assert (
            "dead_letter.resent: File too large; cannot record which letters were sent. Make it writable. Once"
            in output_of(process, 1)
        )
    topic.read_to_end()
    assert 0 < len(topic.records) <= 100, "a transaction has a hundred, or what was ready in its time"
    with resend(agent) as process:
        assert output_of(process) == f"{150 - len(topic.records)} letters were resent\n"
    expect_once(topic, messages)


def test_each_letter_is_sent_once_though_the_broker_is_killed(agent: Agent, topic: Topic, kafka_broker: Broker) -> None:
    messages = make_letters(agent, LETTERS)
    with unless_kafka_lost_an_end(kafka_broker) as is_lost:
        with resend(agent) as process:
            topic.await_records(1)
            kafka_broker.kill()
            kafka_broker.start()
            output_of(process)
        expect_once(topic, messages, is_lost)


@pytest.mark.slow("a broker that is killed is in the gate")
def test_a_run_that_gives_up_on_a_broker_that_hangs_is_continued(
    agent: Agent, topic: Topic, kafka_broker: Broker
) -> None:
    messages: list[str] = []
    for _ in range(TRIES):  # until a run has sent something, and not all, when the broker hangs
        messages += make_letters(agent, LETTERS)
        topic.read_to_end()
        seen = len(topic.records)
        with resend(agent, "--timeout", "2s") as process:
            while len(topic.records) == seen and process.poll() is None:
                topic.read(0.01)
            with frozen(kafka_broker):
                text, _ = process.communicate(timeout=PATIENCE)
        if len(topic.records) > seen and process.returncode == 1:
            break
        with resend(agent) as process:  # so that it leaves no transaction open
            output_of(process)
    assert "not acknowledged in time: run it again" in text
    with resend(agent) as process:
        output_of(process)
    expect_once(topic, messages)


def test_what_is_refused_again_stays_with_the_reason_though_it_is_killed(agent: Agent, topic: Topic) -> None:
    def make() -> list[str]:
        messages = make_letters(agent, LETTERS)
        agent.send_to(topic="%{[app]}", topics=[{"topic": topic.name, "when.not.contains.message": "7"}])
        return messages

    messages = kill_runs(agent, topic, make, 0.05, 0.05, 0.05)
    with resend(agent) as process:
        assert "rejected again" in output_of(process, 3)
    expect_once(topic, [message for message in messages if "7" not in message])
    letters = [stored.letter for stored in LetterBox(agent.data).letters() if stored.letter is not None]
    assert sorted(letter.message for letter in letters) == sorted(message for message in messages if "7" in message)
    assert {letter.reason for letter in letters} == {"the event has no field app"}


def test_two_at_the_same_time_are_not_possible(agent: Agent, topic: Topic, kafka_broker: Broker) -> None:
    messages = make_letters(agent, LETTERS)
    lock = agent.data / REGISTRY / "lock"
    with frozen(kafka_broker), resend(agent) as first:
        await_true(lambda: lock.exists() and is_locked(lock), "the first one has the lock")
        with resend(agent) as second:
            assert f"{REGISTRY} is in use by process {first.pid}" in output_of(second, 1)
        kafka_broker.thaw()
        output_of(first)
    expect_once(topic, messages)


def is_locked(path: Path) -> bool:
    """Return True if a process has locked the file: proc(5), /proc/locks."""
    return f":{path.stat().st_ino} " in Path("/proc/locks").read_text()


@pytest.mark.slow("fencing by one transactional id is in the gate with exactly_once")
def test_two_copies_of_the_letters_fence_each_other_by_name(
    agent: Agent, topic: Topic, kafka_broker: Broker, tmp_path: Path
) -> None:
    for number in range(TRIES):  # until the first one has sent something, and not all, when it is stopped
        make_letters(agent, 5 * LETTERS)
        copy = Agent(tmp_path / f"copy-{number}", kafka_broker.bootstrap, topic.name)
        shutil.copytree(agent.data, copy.data)
        copy.send_to(topic=topic.name)
        topic.read_to_end()
        seen = len(topic.records)
        with resend(agent) as first:
            topic.await_records(seen + 1)
            first.send_signal(signal.SIGSTOP)
            with resend(copy) as second:
                output_of(second)
            first.send_signal(signal.SIGCONT)
            text, _ = first.communicate(timeout=PATIENCE)
        if first.returncode:
            break
    assert (first.returncode, f"the same transactional id: process {second.pid} on host" in text) == (1, True), text


def test_without_a_right_to_transactions_it_names_it_and_the_way_out(
    guarded_broker: Broker, topic_name: str, tmp_path: Path
) -> None:
    guarded_broker.create_topic(topic_name, 2)
    agent = Agent(tmp_path / "agent", guarded_broker.bootstrap, topic_name)
    messages = make_letters(agent, 3)
    for kind, name, words in (
        (ResourceType.TOPIC, "shipper-positions", "Create, Write, Read and Describe on topic shipper-positions"),
        (ResourceType.TRANSACTIONAL_ID, "*", "Write and Describe on transactional id shipper-"),
    ):
        with forbidden(guarded_broker, kind, name):
            with resend(agent) as process:
                text = output_of(process, 1)
            assert words in text
            assert "--at-least-once" in text
    with forbidden(guarded_broker, kind, name), resend(agent, "--at-least-once") as process:
        assert output_of(process) == "3 letters were resent\n"
    with closing(Topic(guarded_broker, topic_name)) as topic:
        expect_once(topic, messages)
