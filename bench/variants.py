"""Values of one shipper option compared: reading a file, and following one."""

from bench import follow, throughput
from bench.contenders import Contender, ShippingJob, shipper, shipper_once
from bench.runs import Runs

# By option of script/bench: the variants, with their overrides of the configuration.
VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "delivery": {
        "at_least_once": ("output.kafka.delivery=at_least_once",),
        "exactly_once": ("output.kafka.delivery=exactly_once",),
    },
    "queue": {
        "memory": (),
        "disk": ("queue.disk={}",),
        "disk, flush: 0": ("queue.disk={flush: 0}",),
    },
    "http": {
        "without http": ("http.enabled=false", "http.socket=false"),
        "http.enabled": ("http.enabled=true", "http.port=0"),
    },
}


def tables(runs: Runs, name: str, rounds: int, lines: int, seconds: float) -> list[str]:
    readers, followers = (
        [_contender(variant, overrides, once=once) for variant, overrides in VARIANTS[name].items()]
        for once in (True, False)
    )
    return [
        throughput.table(runs, readers, rounds, lines),
        *(follow.table(runs, followers, rounds, rate, seconds) for rate in (100, 20_000)),
    ]


def _contender(name: str, overrides: tuple[str, ...], *, once: bool) -> Contender:
    arguments = [argument for override in overrides for argument in ("-E", override)]

    def command(job: ShippingJob) -> list[str]:
        return [*(shipper_once(job) if once else shipper(job)), *arguments]

    return Contender(name, command, exits=once, follows=not once)
