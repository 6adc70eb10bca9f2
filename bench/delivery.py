"""`output.kafka.delivery`: at_least_once and exactly_once side by side, as a consumer with read_committed sees them."""

from dataclasses import replace

from bench import speed
from bench.contenders import Contender, ShippingJob, shipper, shipper_once
from bench.runs import Runs

KINDS = ("at_least_once", "exactly_once")


def tables(runs: Runs, rounds: int, lines: int, seconds: float) -> list[str]:
    once = [_contender(kind, once=True) for kind in KINDS]
    following = [_contender(kind, once=False) for kind in KINDS]
    return [
        speed.reading(runs, once, rounds, lines),
        speed.following(runs, following, rounds, 100, seconds),
        speed.following(runs, following, rounds, 20_000, seconds),
    ]


def _contender(kind: str, *, once: bool) -> Contender:
    def command(job: ShippingJob) -> list[str]:
        chosen = replace(job, output=f"delivery: {kind}")
        return shipper_once(chosen) if once else shipper(chosen)

    return Contender(kind, command, exits=once, follows=not once)
