"""The shipper's configuration. Names, units and defaults are Filebeat's where it has the option."""

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from log_shipper.config.text.checks import Finding, file_mode, not_blank, without_nul
from log_shipper.config.text.units import Duration
from log_shipper.config.yaml.deferred import Deferred
from log_shipper.config.yaml.load import RawConfig
from log_shipper.config.yaml.schema import Kinds
from log_shipper.config.yaml.tree import Section
from log_shipper.runtime.kafka.security_options import SaslConfig
from log_shipper.runtime.kafka.tls_options import SslConfig
from log_shipper.shipper.options import filebeat, included, modules, old_names, own_output
from log_shipper.shipper.options.autodiscover import PROVIDERS as PROVIDERS
from log_shipper.shipper.options.autodiscover import AutodiscoverConfig, has_providers
from log_shipper.shipper.options.dead_letters import LettersConfig
from log_shipper.shipper.options.exactly_once import conflicts
from log_shipper.shipper.options.feeds import AnyInput, files_of
from log_shipper.shipper.options.http import HttpConfig
from log_shipper.shipper.options.identity import FileIdentityConfig
from log_shipper.shipper.options.included import ConfigInputs
from log_shipper.shipper.options.input_ids import has_derived_id, kept_by_order, with_distinct_ids
from log_shipper.shipper.options.inputs import (
    CloseConfig,
    DeleteConfig,
    InputConfig,
    ProspectorConfig,
    ReaderCloseConfig,
    RemovedCloseConfig,
    ScannerConfig,
    ScannerFingerprintConfig,
    StateChangeConfig,
)
from log_shipper.shipper.options.keystore import KeystoreConfig, secrets_of
from log_shipper.shipper.options.logs import LoggingConfig
from log_shipper.shipper.options.outputs import OutputConfig
from log_shipper.shipper.options.processors import PROCESSORS, AnyProcessor
from log_shipper.shipper.options.queues import MemQueue, QueueConfig
from log_shipper.shipper.options.rooted_fields import left_out, refused, rooted
from log_shipper.shipper.options.unset_fields import (
    FieldSetters,
    Tested,
    remarks_on_steps,
    tested_by,
    tests_of_unset_fields,
)

__all__ = [
    "CloseConfig",
    "ConfigInputs",
    "DeleteConfig",
    "FileIdentityConfig",
    "HttpConfig",
    "InputConfig",
    "LoggingConfig",
    "MemQueue",
    "OutputConfig",
    "PathConfig",
    "ProspectorConfig",
    "QueueConfig",
    "ReaderCloseConfig",
    "RegistryConfig",
    "RemovedCloseConfig",
    "SaslConfig",
    "ScannerConfig",
    "ScannerFingerprintConfig",
    "ShipperConfig",
    "SslConfig",
    "StateChangeConfig",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PathConfig:
    data: str = field(
        default="data", metadata={"doc": "The directory of the registry and dead letters.", "check": not_blank}
    )
    home: str | None = field(default=None, metadata={"doc": "Accepted and ignored."})
    config: str | None = field(
        default=None,
        metadata={"doc": "The base directory of config.inputs.path; by default that of the configuration file."},
    )
    logs: str | None = field(
        default=None, metadata={"doc": "The directory of `logging.to_files`.", "check": without_nul}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionConfig:
    precision: Literal["millisecond", "microsecond", "nanosecond"] = field(
        default="millisecond", metadata={"doc": "Must be millisecond, the precision of `@timestamp`."}
    )

    def check(self) -> Iterator[Finding]:
        if self.precision != "millisecond":
            yield "precision", "must be millisecond, the precision of all records"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryConfig:
    ignored: ClassVar = filebeat.REGISTRY_IGNORED
    path: str = field(
        default="registry", metadata={"doc": "The registry's directory, below path.data.", "check": not_blank}
    )
    flush: Duration = field(
        default=1.0,
        metadata={
            "doc": "How often the registry is fsynced: the maximum repeated after a power failure, except of logs that "
            "lost data in it. A killed process repeats less, because positions are written as lines are acknowledged."
        },
    )
    file_permissions: str = field(
        default="0600",
        metadata={"doc": "The mode of registry files, also applied to existing ones at startup.", "check": file_mode},
    )


def check_inputs(inputs: tuple[AnyInput, ...]) -> Iterator[Finding]:
    counts = Counter(item.id for item in inputs if not has_derived_id(item))
    for index, item in enumerate(inputs):
        if counts[item.id] > 1:
            yield f"[{index}].id", f"{item.id!r} is used by {counts[item.id]} inputs; each input needs a unique id"
    enabled = [(index, item) for index, item in files_of(inputs) if item.enabled]
    for index, item in enabled:
        if item.type == "stdin" and sum(other.enabled for other in inputs) > 1:
            yield f"[{index}].type", "stdin must be the only enabled input"


INPUT_KINDS = Kinds(
    "type",
    Deferred(
        "log_shipper.shipper",
        {
            "filestream": "options.inputs:InputConfig",
            "log": "options.flat_inputs:LogInput",
            "container": "options.flat_inputs:ContainerInput",
            "stdin": "options.flat_inputs:StdinInput",
            "http": "inputs.http.options:HttpInputConfig",
            "http_endpoint": "inputs.http.options:HttpInputConfig",
            "syslog": "inputs.sockets.options:SyslogInput",
            "tcp": "inputs.sockets.options:TcpInput",
            "udp": "inputs.sockets.options:UdpInput",
            "unix": "inputs.sockets.options:UnixInput",
            "journald": "inputs.journald.options:JournaldConfig",
            "kafka": "inputs.kafka.options:KafkaInputConfig",
            "dead_letter": "inputs.dead_letter.options:DeadLetterInput",
        },
    ),
    filebeat.INPUT_TYPES_NOT_YET,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipperConfig:
    not_yet: ClassVar = filebeat.ROOT_NOT_YET
    ignored: ClassVar = filebeat.ROOT_IGNORED
    inputs: tuple[AnyInput, ...] = field(
        metadata={
            "key": ("shipper.inputs", "filebeat.inputs"),
            "doc": "The inputs.",
            "missing": "list the inputs, as in '- {type: filestream, id: app, paths: [/var/log/app.log]}'",
            "check": check_inputs,
            "read_as": INPUT_KINDS,
        }
    )
    output: OutputConfig
    queue: QueueConfig = field(default_factory=QueueConfig)
    path: PathConfig = field(default_factory=PathConfig)
    processors: tuple[AnyProcessor, ...] = field(
        default=(),
        metadata={
            "since": "0.3",
            "doc": "Processors for all events, in order, after those of the input.",
            "read_as": PROCESSORS,
        },
    )
    name: str | None = field(default=None, metadata={"doc": "The host name in events; the system's when absent."})
    tags: tuple[str, ...] = field(default=(), metadata={"doc": "Added to `tags` of every event."})
    fields: dict[str, Any] = field(default_factory=dict, metadata={"doc": "Added to every event below `fields`."})
    fields_under_root: bool = field(
        default=False, metadata={"doc": "Puts `fields` at the top level of events instead."}
    )
    registry: RegistryConfig = field(
        default_factory=RegistryConfig, metadata={"key": ("shipper.registry", "filebeat.registry")}
    )
    shutdown_timeout: Duration = field(
        default=5.0,
        metadata={
            "key": ("shipper.shutdown_timeout", "filebeat.shutdown_timeout"),
            "doc": "Maximum time to wait for acknowledgements at shutdown.",
        },
    )
    read_interval: Duration = field(
        default=0.023,
        metadata={
            "since": "0.3",
            "key": "shipper.read_interval",
            "doc": "How often busy files are read. Longer intervals use less CPU and add latency (half the interval on "
            "average). Lines after a pause are read at once.",
            "min": 0.001,
            "max": 1.0,
        },
    )
    logging: LoggingConfig = field(default_factory=LoggingConfig)
    http: HttpConfig = field(default_factory=HttpConfig)
    timestamp: PrecisionConfig = field(default_factory=PrecisionConfig)
    config_inputs: ConfigInputs = field(
        default_factory=ConfigInputs,
        metadata={"since": "0.3", "key": ("shipper.config.inputs", "filebeat.config.inputs")},
    )
    autodiscover: AutodiscoverConfig = field(
        default_factory=AutodiscoverConfig,
        metadata={"since": "0.3", "key": ("shipper.autodiscover", "filebeat.autodiscover")},
    )
    # For the log: options accepted and ignored, and options that Filebeat ignores although the user meant them.
    keystore: KeystoreConfig = field(default_factory=KeystoreConfig)
    dead_letter: LettersConfig = field(default_factory=LettersConfig)
    notes: tuple[str, ...] = field(default=(), metadata={"key": None})
    warnings: tuple[str, ...] = field(default=(), metadata={"key": None})

    folders: ClassVar = included.folders
    secrets: ClassVar = secrets_of
    explain: ClassVar = ("filebeat.config_dir", modules.LISTED, modules.IN_FILES)

    @staticmethod
    def tolerates(root: Section) -> bool:
        """Return True for a Filebeat configuration: with `filebeat.*` names and no `shipper.*` names."""
        names = {entry.key.partition(".")[0] for entry in root.entries}
        return "filebeat" in names and "shipper" not in names

    @classmethod
    def prepared(cls, raw: RawConfig) -> RawConfig:
        """Return the configuration with current names and the inputs of included files."""
        raw = replace(raw, root=old_names.with_renamed_options(raw.root, raw.problems))
        others = modules.inputs_of(raw) or None  # and those of included files
        for key in included.SECTIONS:
            section = included.node_at(raw.root, key)
            rules = None if section is None else raw.part(ConfigInputs, section)
            if rules is not None and rules.enabled and rules.path is not None:
                rules = included.with_absolute_path(raw.env["path.config"], rules)
                raw = replace(raw, root=included.with_path(raw.root, key, rules.path or ""))
                others = [*(others or []), *included.inputs_in(rules, raw.problems)]
        key, own = included.inputs_of(raw.root)
        if own is not None and others is None and has_providers(raw.root):
            others = []
        if own is None or (not own.items and others is None):
            return raw  # missing options and wrong types are reported on reading
        default_type = "log" if raw.tolerant else None  # Filebeat's default, which is older than filestream
        todays = old_names.with_todays_options(
            (*own.items, *(others or [])), key, raw.problems, default_type=default_type
        )
        return replace(raw, root=included.with_inputs(raw.root, key, replace(own, items=tuple(todays))))

    def check(self) -> Iterator[Finding]:
        others = self.config_inputs.files_wanted or self.autodiscover.providers
        if not self.has_inputs and not others:
            yield "inputs", "no input is enabled; enable at least one"
        if self.autodiscover.providers and any(item.enabled and item.type == "stdin" for item in self.inputs):
            yield "autodiscover", "stdin must be the only input; remove it, or the providers"
        if os.path.isfile(os.path.join(self.path.data, self.registry.path)):
            yield "registry.path", "is a file, perhaps a registry of Filebeat 6; name a directory, existing or new"
        yield from rooted(self, self.inputs, refused)
        if not self.autodiscover.providers:  # they add container metadata
            yield from tests_of_unset_fields(self._tested(), self._steps)
        yield from (
            (f"inputs{below}", message) for below, message in own_output.reads_own_output(self.inputs, self.written())
        )
        output, letters = self.output.chosen, self.dead_letter.kafka
        if letters is not None and not output.brokers:
            yield "dead_letter.kafka", "needs the brokers of output.kafka; remove it"
        if output.commits_positions:
            on_disk = self.queue.disk is not None and self.queue.disk.enabled
            yield from conflicts(self.inputs, self._processor_lists(), output.brokers, on_disk=on_disk)
        topics = output.fixed_topics | (set() if letters is None else {letters.topic})
        own = own_output.reads_own_topic(self.inputs, output.brokers, sorted(topics))
        yield from ((f"inputs{below}", message) for below, message in own)

    def remarks(self) -> Iterator[Finding]:
        yield from remarks_on_steps(list(self._tested()), self._steps, self._processor_lists(), os.environ)
        yield from rooted(self, self.inputs, left_out)
        if not self.has_inputs and self.config_inputs.files_wanted:
            yield (
                "config_inputs.path",
                (f"no input is enabled in {self.config_inputs.path}; new files are loaded on SIGHUP"),
            )
        yield from ((f"inputs{below}", message) for below, message in kept_by_order(self.inputs))
        log = self.logging.written(self.path.logs)
        yield from ((f"inputs{below}", message) for below, message in own_output.reads_own_log(self.inputs, log))
        yield from self.queue.remarks_on(item.type for item in self.inputs if item.enabled)

    @property
    def has_inputs(self) -> bool:
        return any(item.enabled for item in self.inputs)

    @property
    def file_inputs(self) -> tuple[InputConfig, ...]:
        """Return the inputs that read files."""
        return tuple(item for _, item in files_of(self.inputs))

    def converted(self) -> "ShipperConfig":
        return replace(self, inputs=with_distinct_ids(self.inputs))

    def _tested(self) -> Iterator[Tested]:
        for where, processors in self._processor_lists().items():
            yield from tested_by(processors, where)
        for where, condition in self.output.chosen.conditions():
            yield Tested(f"output.{self.output.kind}.{where}", condition)

    @property
    def _steps(self) -> FieldSetters:
        return FieldSetters(self.inputs, self.processors, self.fields)

    def _processor_lists(self) -> dict[str, tuple[AnyProcessor, ...]]:
        lists = {f"inputs[{index}].processors": item.processors for index, item in enumerate(self.inputs)}
        return lists | {"processors": self.processors}

    def written(self) -> dict[str, str]:
        """Return all files that the shipper writes -> the option that names them."""
        registry = os.path.join(self.path.data, self.registry.path)
        files = {os.path.join(self.path.data, name): "path.data" for name in own_output.DATA_FILES}
        files |= {os.path.join(registry, name): "the registry in path.data" for name in own_output.REGISTRY_FILES}
        queue = (self.queue.disk and self.queue.disk.path) or os.path.join(self.path.data, "diskqueue")
        files |= {os.path.join(queue, name): "the queue on disk" for name in ("id", "lock", "*.seg")}
        if self.keystore.path is not None:
            files[self.keystore.path] = "keystore.path"
        return files | dict.fromkeys(self.output.chosen.files(), f"output.{self.output.kind}")
