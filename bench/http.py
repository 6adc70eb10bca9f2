"""`http.enabled`: what a snapshot a second and a server that waits for clients cost, beside an agent without both."""

from bench import speed
from bench.contenders import Contender, ShippingJob, shipper, shipper_once
from bench.runs import Runs

KINDS = {
    "without http": ("http.enabled=false", "http.socket=false"),
    "http.enabled": ("http.enabled=true", "http.port=0"),
}


def tables(runs: Runs, rounds: int, lines: int, seconds: float) -> list[str]:
    readers, followers = ([_contender(kind, once=once) for kind in KINDS] for once in (True, False))
    return speed.side_by_side(runs, readers, followers, rounds, lines, seconds)


def _contender(kind: str, *, once: bool) -> Contender:
    overrides = [argument for override in KINDS[kind] for argument in ("-E", override)]

    def command(job: ShippingJob) -> list[str]:
        return [*(shipper_once(job) if once else shipper(job)), *overrides]

    return Contender(kind, command, exits=once, follows=not once)
