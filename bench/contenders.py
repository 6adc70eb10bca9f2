"""The measured programs: each ships one file to one topic with acks=all and lz4, and saves positions. Other options
have the program's defaults."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

from demo.process import SHIPPER_PROGRAM


@dataclass(frozen=True, slots=True)
class ShippingJob:
    """One run. `log`: the file to ship, or a pattern of files; `directory`: an empty one for the contender; `inactive`:
    seconds after which the shipper closes an inactive file (its default); `options` of the shipper's input and its
    `processors`: in YAML's flow style."""

    bootstrap: str
    topic: str
    log: Path
    directory: Path
    count: int
    inactive: float = 300.0
    options: str = ""
    processors: str = ""


@dataclass(frozen=True, slots=True)
class Contender:
    """`exits`: exits after the last record; others are stopped when all records are readable. `follows`: can tail a
    file. `closes`: closes inactive files."""

    name: str
    command: Callable[[ShippingJob], list[str]]
    exits: bool
    follows: bool
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Rival:
    """Another shipper. `programs`: its names on the PATH; `arguments`: those before the path of its configuration;
    `module`: a file that it needs, as a pattern below /usr/lib."""

    name: str
    programs: tuple[str, ...]
    version: str
    arguments: tuple[str, ...]
    file: str
    template: str
    module: str = ""

    def program(self, path: str) -> str | None:
        """Return the program in the directories of `path`, or None if it is not installed."""
        if self.module and not any(Path("/usr/lib").glob(self.module)):
            return None
        programs = (shutil.which(name, path=path) for name in self.programs)
        return next(filter(None, programs), None)

    def contender(self, program: str) -> Contender:
        """Return the contender of this program, with its version in the name."""
        shown = subprocess.run([program, self.version], capture_output=True, check=True, text=True).stdout
        version = re.search(r"[0-9]+\.[0-9]+", shown)

        def command(job: ShippingJob) -> list[str]:
            return [program, *self.arguments, _write(job, self.file, self.template)]

        name = f"{self.name} {version[0]}" if version else self.name
        return Contender(name, command, exits=False, follows=True)


SHIPPER = """\
shipper.inputs:
  - {{type: filestream, id: bench, paths: ["{log}"], close.on_state_change.inactive: {inactive:.0f}s, {options}}}
processors: [{processors}]
output.kafka: {{hosts: ["{bootstrap}"], topic: {topic}}}
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


FILEBEAT = """\
filebeat.inputs:
  - {{type: filestream, id: bench, paths: ["{log}"]}}
output.kafka: {{hosts: ["{bootstrap}"], topic: {topic}, required_acks: -1, compression: lz4}}
path: {{data: "{directory}/data", logs: "{directory}/logs"}}
"""

FLUENT_BIT = """\
pipeline:
  inputs:
    - {{name: tail, path: "{log}", read_from_head: true, db: "{directory}/positions.db"}}
  outputs:
    - name: kafka
      match: "*"
      brokers: "{bootstrap}"
      topics: {topic}
      rdkafka.compression.codec: lz4
      rdkafka.request.required.acks: -1
"""

# `raw` is the only encoding with one record per line.
OPEN_TELEMETRY = """\
extensions:
  file_storage: {{directory: "{directory}"}}
receivers:
  filelog: {{include: ["{log}"], start_at: beginning, storage: file_storage}}
exporters:
  kafka:
    brokers: ["{bootstrap}"]
    logs: {{topic: {topic}, encoding: raw}}
    producer: {{required_acks: -1, compression: lz4}}
service:
  extensions: [file_storage]
  pipelines:
    logs: {{receivers: [filelog], exporters: [kafka]}}
  telemetry: {{metrics: {{level: none}}}}
"""

VECTOR = """\
data_dir: "{directory}"
sources:
  log: {{type: file, include: ["{log}"]}}
sinks:
  kafka:
    type: kafka
    inputs: [log]
    bootstrap_servers: "{bootstrap}"
    topic: {topic}
    encoding: {{codec: json}}
    compression: lz4
    librdkafka_options: {{request.required.acks: "-1"}}
    acknowledgements: {{enabled: true}}
"""

RIVALS = (
    Rival("rsyslog", ("rsyslogd",), "-v", ("-n", "-iNONE", "-f"), "rsyslog.conf", RSYSLOG, "*/rsyslog/omkafka.so"),
    Rival("Filebeat", ("filebeat",), "version", ("run", "-c"), "filebeat.yml", FILEBEAT),
    Rival("Fluent Bit", ("fluent-bit",), "--version", ("-c",), "fluent-bit.yaml", FLUENT_BIT),
    Rival("OpenTelemetry", ("otelcol-contrib", "otelcol"), "--version", ("--config",), "otel.yaml", OPEN_TELEMETRY),
    Rival("Vector", ("vector",), "--version", ("--config",), "vector.yaml", VECTOR),
)


def shipper(job: ShippingJob) -> list[str]:
    config = _write(job, "shipper.yml", SHIPPER)
    return [*SHIPPER_PROGRAM, "run", "-c", config]


def shipper_once(job: ShippingJob) -> list[str]:
    return [*shipper(job), "--once"]


def floor(job: ShippingJob) -> list[str]:
    return [sys.executable, "-m", "bench.floor", job.bootstrap, job.topic, str(job.count)]


def floor_at(rate: int) -> Contender:
    """Return the floor that produces records at a rate, independent of the log."""

    def command(job: ShippingJob) -> list[str]:
        return [sys.executable, "-m", "bench.floor", job.bootstrap, job.topic, "--rate", str(rate)]

    return Contender("librdkafka alone", command, exits=False, follows=True)


def kcat(job: ShippingJob) -> list[str]:
    return ["kcat", "-P", "-b", job.bootstrap, "-t", job.topic, "-z", "lz4", "-X", "acks=all", "-l", str(job.log)]


def of_checkout(directory: Path) -> list[Contender]:
    """Return the shipper of another checkout, run in the environment of its script/bootstrap."""
    program = directory / ".venv" / "bin" / "shipper"
    if not program.exists():
        raise SystemExit(f"--beside: {program} does not exist. Run {directory / 'script' / 'bootstrap'}.")

    def with_program(command: Callable[[ShippingJob], list[str]]) -> Callable[[ShippingJob], list[str]]:
        return lambda job: [str(program), *command(job)[len(SHIPPER_PROGRAM) :]]

    return [
        Contender(f"{directory.name} --once", with_program(shipper_once), exits=True, follows=False),
        Contender(directory.name, with_program(shipper), exits=False, follows=True, closes=True),
    ]


def available() -> list[Contender]:
    """Return the shipper, the floor, and other installed agents."""
    contenders = [
        Contender("shipper --once", shipper_once, exits=True, follows=False),
        Contender("shipper", shipper, exits=False, follows=True, closes=True),
        Contender("floor", floor, exits=True, follows=False),
    ]
    path = f"{os.environ['PATH']}:/usr/sbin"  # has rsyslogd
    contenders += [rival.contender(program) for rival in RIVALS if (program := rival.program(path))]
    if shutil.which("kcat"):
        contenders.append(Contender("kcat -P -l", kcat, exits=True, follows=False))
    return contenders


def _write(job: ShippingJob, name: str, template: str) -> str:
    path = job.directory / name
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    path.write_text(template.format(**values), encoding="utf-8")
    path.chmod(0o600)
    return str(path)
