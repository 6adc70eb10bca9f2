"""The programs that are measured side by side: each ships one file to one topic with acks=all and lz4."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ShippingJob:
    """One run: `log` is the file to ship, or a pattern of files; `directory` is empty and the contender's own.
    `inactive`: seconds after which the shipper closes a quiet file (its default). `options` of the shipper's input and
    its `processors`, `output`, options of output.kafka, and `queue` are in YAML's flow style."""

    bootstrap: str
    topic: str
    log: Path
    directory: Path
    count: int
    inactive: float = 300.0
    options: str = ""
    processors: str = ""
    output: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Contender:
    """`exits`: it ends by itself; others are stopped when all records are readable. `follows`: it can tail a file.
    `closes`: it closes files that are quiet."""

    name: str
    command: Callable[[ShippingJob], list[str]]
    exits: bool
    follows: bool
    closes: bool = False


SHIPPER = """\
shipper.inputs:
  - {{type: filestream, id: bench, paths: ["{log}"], close.on_state_change.inactive: {inactive:.0f}s, {options}}}
processors: [{processors}]
output.kafka: {{hosts: ["{bootstrap}"], topic: {topic}, {output}}}
queue: {{{queue}}}
path.data: {directory}/data
logging.format: text
"""

RSYSLOG = """\
global(workDirectory="{directory}" maxMessageSize="64k")
module(load="imfile")
module(load="omkafka")
template(name="record" type="list" option.jsonf="on") {{
  property(outname="@timestamp" name="timegenerated" dateFormat="rfc3339" format="jsonf")
  property(outname="message" name="msg" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="file" name="$!metadata!filename" format="jsonf")
  property(outname="offset" name="$!metadata!fileoffset" format="jsonf")
}}
input(type="imfile" file="{log}" tag="bench" addMetadata="on" ruleset="ship")
ruleset(name="ship" queue.type="LinkedList" queue.size="100000" queue.dequeueBatchSize="4096") {{
  action(type="omkafka" broker="{bootstrap}" topic="{topic}" template="record" resubmitOnFailure="on"
         confParam=["compression.codec=lz4", "acks=all", "queue.buffering.max.messages=200000"])
}}
"""


def shipper(job: ShippingJob) -> list[str]:
    config = _write(job, "shipper.yml", SHIPPER)
    return [sys.executable, "-m", "shipper", "run", "-c", config]


def shipper_once(job: ShippingJob) -> list[str]:
    return [*shipper(job), "--once"]


def floor(job: ShippingJob) -> list[str]:
    return [sys.executable, "-m", "bench.floor", job.bootstrap, job.topic, str(job.count)]


def floor_at(rate: int) -> Contender:
    """Return the floor that produces records at this rate, whatever is written to the log."""

    def command(job: ShippingJob) -> list[str]:
        return [sys.executable, "-m", "bench.floor", job.bootstrap, job.topic, "--rate", str(rate)]

    return Contender("librdkafka alone", command, exits=False, follows=True)


def rsyslog(job: ShippingJob) -> list[str]:
    config = _write(job, "rsyslog.conf", RSYSLOG)
    return ["/usr/sbin/rsyslogd", "-n", "-f", config, "-i", str(job.directory / "rsyslogd.pid")]


def kcat(job: ShippingJob) -> list[str]:
    return ["kcat", "-P", "-b", job.bootstrap, "-t", job.topic, "-z", "lz4", "-X", "acks=all", "-l", str(job.log)]


def of_checkout(directory: Path) -> list[Contender]:
    """Return the shipper of another checkout, run with this one's packages."""

    def there(command: Callable[[ShippingJob], list[str]]) -> Callable[[ShippingJob], list[str]]:
        return lambda job: ["sh", "-c", 'cd "$0" && exec "$@"', str(directory), *command(job)]

    return [
        Contender(f"{directory.name} --once", there(shipper_once), exits=True, follows=False),
        Contender(directory.name, there(shipper), exits=False, follows=True, closes=True),
    ]


def available() -> list[Contender]:
    """Return those that this machine has; the shipper and the floor always."""
    contenders = [
        Contender("shipper --once", shipper_once, exits=True, follows=False),
        Contender("shipper", shipper, exits=False, follows=True, closes=True),
        Contender("floor", floor, exits=True, follows=False),
    ]
    omkafka = any(Path("/usr/lib").glob("*/rsyslog/omkafka.so"))
    if shutil.which("rsyslogd", path="/usr/sbin") and omkafka:
        contenders.append(Contender("rsyslog", rsyslog, exits=False, follows=True))
    if shutil.which("kcat"):
        contenders.append(Contender("kcat -P -l", kcat, exits=True, follows=False))
    return contenders


def _write(job: ShippingJob, name: str, template: str) -> str:
    path = job.directory / name
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    path.write_text(template.format(**values), encoding="utf-8")
    path.chmod(0o600)
    return str(path)
