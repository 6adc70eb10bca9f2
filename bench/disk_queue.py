"""The queue in memory and the one on disk side by side: an output that keeps up, and everything written."""

from dataclasses import replace

from bench import speed
from bench.contenders import Contender, ShippingJob, shipper, shipper_once
from bench.runs import Runs

KINDS = {"memory": "", "disk": "disk: {}", "disk, all is written": "disk: {flush: 0}"}


def tables(runs: Runs, rounds: int, lines: int, seconds: float) -> list[str]:
    readers, followers = ([_contender(kind, once=once) for kind in KINDS] for once in (True, False))
    return speed.side_by_side(runs, readers, followers, rounds, lines, seconds)


def _contender(kind: str, *, once: bool) -> Contender:
    def command(job: ShippingJob) -> list[str]:
        chosen = replace(job, queue=KINDS[kind])
        return shipper_once(chosen) if once else shipper(chosen)

    return Contender(kind, command, exits=once, follows=not once)
