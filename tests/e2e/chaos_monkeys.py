"""What breaks, and when: one generator for each victim, and a loop that runs them side by side.

A generator yields the condition that it waits for next. Its choices come from the round's seed; what the programs are
doing at that moment does not.
"""

import random
import signal
import time
from collections.abc import Callable, Iterator

from tests.e2e.chaos_site import Site

Ready = Callable[[], bool]
Monkey = Iterator[Ready]
TICK = 0.02
PATIENCE = 120.0  # while the broker is away no sink lands anything, and perhaps none can end


def after(seconds: float) -> Ready:
    deadline = time.monotonic() + seconds
    return lambda: time.monotonic() >= deadline


def shipper(site: Site, dice: random.Random, faults: int) -> Monkey:
    for _ in range(faults):
        yield after(dice.uniform(1, 6))
        match dice.choice(("kill", "kill", "stop", "freeze")):
            case "freeze":
                site.report("shipper: SIGSTOP")
                site.agent.process.send_signal(signal.SIGSTOP)
                yield after(dice.uniform(0.5, 3))
                site.agent.process.send_signal(signal.SIGCONT)
            case "kill":
                site.report("shipper: kill -9")
                site.agent.kill()
                site.agent.start()
            case _:
                site.report("shipper: SIGTERM")
                code = site.agent.stop()
                # Before its handler is installed, the signal ends it.
                assert code in (0, -signal.SIGTERM), f"code {code}:\n{site.agent.log[-2000:]}"
                site.agent.start()


def broker(site: Site, dice: random.Random, faults: int) -> Monkey:
    for _ in range(faults):
        yield after(dice.uniform(2, 8))
        what = dice.choice(("kill", "stop", "freeze"))
        site.report(f"broker: {what}")
        site.broker_faults, site.broker_away = site.broker_faults + 1, True
        getattr(site.broker, what)()
        yield after(dice.uniform(0, 4))
        if what == "freeze":
            site.broker.thaw()
        else:
            site.broker.start(PATIENCE)
        site.broker_faults, site.broker_away = site.broker_faults + 1, False
        site.report("broker: back")


def sink(site: Site, dice: random.Random, faults: int, loses: bool) -> Monkey:
    """Each fault is somewhere in a batch or between two, or during a start."""
    for number in range(faults):
        what = "lose" if loses and number == 0 else dice.choice(("kill", "kill", "stop", "freeze"))
        if dice.random() < 0.85:
            yield _landing(site)  # as long as lines come one batch follows the other
        yield after(dice.uniform(0, 4))
        if site.sink.code is not None:
            continue  # it ended because of the broker; the next call of `watch` starts it again
        site.report(f"sink: {what}, {site.sink.batches()} of {site.sink.started_batches()} batches committed")
        match what:
            case "freeze":
                site.sink.signal(signal.SIGSTOP)
                yield after(dice.uniform(0.5, 4))
                site.sink.signal(signal.SIGCONT)
            case "stop":
                site.sink_may_end = True
                site.sink.ask_to_end()
                late = after(PATIENCE)
                yield lambda: site.sink.code is not None or late()  # noqa: B023 - called before the next turn
                site.report(f"sink: ended with code {site.sink.code}")
                assert site.sink.code is not None, "the sink does not end on SIGTERM"
                site.start_sink()
            case _:
                site.sink.kill()
                if what == "lose":
                    site.lose_checkpoint()
                site.start_sink()


def topic(site: Site, dice: random.Random) -> Monkey:
    yield after(dice.uniform(0, 10))
    yield lambda: not site.broker_away
    site.report(f"topic: {site.partitions + 1} partitions")
    site.grow()


def play(site: Site, monkeys: list[Monkey]) -> None:
    """Run until all generators are exhausted. Raises AssertionError if a program ended by itself."""
    waiting = [(monkey, after(0)) for monkey in monkeys]
    while waiting:
        site.watch()
        time.sleep(TICK)
        waiting = [step for monkey, ready in waiting if (step := _step(monkey, ready))]


def _step(monkey: Monkey, ready: Ready) -> tuple[Monkey, Ready] | None:
    if ready():
        following = next(monkey, None)
        return None if following is None else (monkey, following)
    return monkey, ready


def _landing(site: Site) -> Ready:
    late = after(PATIENCE)
    return lambda: late() or "landing topic" in site.sink.log_text()
