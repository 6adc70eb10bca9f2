"""Filebeat options that the shipper lacks, by dotted name relative to the section, with the reason.

Those in NOT_YET would change what is shipped and are errors. Those in IGNORED have no effect on events and are only
logged.
"""

_ELSEWHERE = "the shipper does not use it"
_TUNING = "the shipper sizes batches, requests and retries itself; set client settings below librdkafka"
_READS = "the shipper sizes its reads itself"
_WOKEN = "file events wake the reader"

_MODULES = (
    "the module's files are read with event.module, event.dataset, fileset.name and service.type, but their "
    "lines are not parsed"
)
_SPOOL = "an old option, now queue.mem; under load, batches form by themselves"
ROOT_NOT_YET = {
    "filebeat.config_dir": "it repeats filebeat.prospectors; list input files in filebeat.config.inputs.path",
    "hostname": "`name` sets host.name in events",
    "features.fqdn": "host.name is the system's host name; override it with `name`",
}
ROOT_IGNORED = dict.fromkeys(
    (
        "setup",
        "monitoring",
        "cloud",
        "xpack",
        "apm",
        "instrumentation",
        "features.log_input_run_as_filestream",
        "seccomp",
        "max_procs",
        "management",
        "migration",
        "filebeat.overwrite_pipelines",
    ),
    _ELSEWHERE,
) | {
    "strict.perms": "use the command-line flag --strict.perms=false",
    "filebeat.modules": _MODULES,
    "filebeat.config.modules": _MODULES,
    "filebeat.spool_size": _SPOOL,
    "filebeat.idle_timeout": _SPOOL,
    "filebeat.publish_async": _SPOOL,
}
HTTP_IGNORED = {"named_pipe": "named pipes exist only on Windows", "pprof": "it profiles Go programs"}
OUTPUT_NOT_YET = dict.fromkeys(
    ("elasticsearch", "logstash", "redis", "discard", "http", "otelconsumer"),
    "send to Kafka (output.kafka) and forward with Logstash, Kafka Connect or the Spark sink; output.file and "
    "output.console need no broker",
)
KAFKA_NOT_YET = {"proxy_url": ""}
KAFKA_IGNORED = {"allow_auto_topic_creation": "the broker decides"} | dict.fromkeys(
    ("worker", "workers", "loadbalance", "retry"), _TUNING
)
KAFKA_INPUT_NOT_YET = {
    "expand_event_list_from_field": "each record is one event, identified by its offset; decode the list downstream",
}
CONSOLE_IGNORED = {"bulk_max_size": _TUNING}
QUEUE_NOT_YET = {"spool": "an experiment that Filebeat removed; use queue.disk"}
REGISTRY_IGNORED = {"migrate_file": _ELSEWHERE, "backend": _ELSEWHERE, "cleanup_interval": _ELSEWHERE}
LOG_FILES_IGNORED = {
    "suffix": "the current file is always 'name', the previous one 'name.1'",
}
QUEUE_MEM_IGNORED = {"immediate_shutdown": "unacknowledged events are always resent at the next start"}
METRICS_IGNORED = {"namespaces": "metrics are logged as one line"}
INPUT_TYPES_NOT_YET = dict.fromkeys(
    (
        "aws-cloudwatch",
        "aws-s3",
        "azure-blob-storage",
        "azure-eventhub",
        "benchmark",
        "cel",
        "cloudfoundry",
        "entity-analytics",
        "etw",
        "gcp-pubsub",
        "gcs",
        "httpjson",
        "lumberjack",
        "mqtt",
        "netflow",
        "o365audit",
        "redis",
        "salesforce",
        "streaming",
        "unifiedlogs",
        "websocket",
        "winlog",
    ),
    "the shipper reads files and standard input: write to a file first, or keep Filebeat for this input",
)
INPUT_NOT_YET = {
    "seek_to_tail": "ignore_inactive: since_last_start skips files without new lines; type: log has tail_files",
    "legacy_clean_inactive": "set clean_inactive to -1, or above ignore_older + check_interval",
    "allow_deprecated_id_duplication": "every input needs a unique id",
    "gzip_experimental": "now compression: auto",
}
INPUT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "rotation": "rotated files are recognised by device, inode and content",
}
SOCKET_NOT_YET = {
    "parsers": "Filebeat has no parsers for this type either; use processors, or type: syslog for its header",
}
FLAT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "backoff_factor": _WOKEN,
    "max_backoff": _WOKEN,
    "scan.sort": "files are read in turn",
    "scan.order": "files are read in turn",
    "allow_deprecated_use": "this input type remains supported",
}
HTTP_INPUT_NOT_YET = {
    "program": "there is no Common Expression Language: send one object per event, or use processors",
    "crc": "webhook challenges are not answered; use secret.header or hmac",
}
HTTP_INPUT_IGNORED = {"tracer": "requests are not traced to a file; refused ones are in the log"}
# Options of other input types, with their name here.
FLAT_NAMES = {
    "message_max_bytes": "max_bytes",
    "parsers": "multiline",
    "prospector.scanner.check_interval": "scan_frequency",
    "prospector.scanner.exclude_files": "exclude_files",
    "prospector.scanner.symlinks": "symlinks",
    "prospector.scanner.recursive_glob": "recursive_glob.enabled",
    "close.on_state_change.inactive": "close_inactive",
    "close.on_state_change.renamed": "close_renamed",
    "close.on_state_change.removed": "close_removed",
    "close.reader.on_eof": "close_eof",
    "close.reader.after_interval": "close_timeout",
}
LOG_NAMES = FLAT_NAMES | {"path": "paths"}
FILESTREAM_NAMES = {ours: theirs for theirs, ours in FLAT_NAMES.items()} | {
    "path": "paths",
    "multiline": "'- multiline:' below parsers",
    "json": "'- ndjson:' below parsers",
}
STDIN_NAMES = {name: FLAT_NAMES[name] for name in ("message_max_bytes", "parsers")}
_OWN_BACKOFF = "the shipper restarts journalctl after 1 second, increasing to at most a minute"
JOURNALD_IGNORED = {"backoff": _OWN_BACKOFF, "max_backoff": _OWN_BACKOFF}
_NO_DIRECTORY = "it queries Windows or a directory service"
PROCESSOR_NOT_YET = {
    "script": (
        "a script may run without end; use rename, move_fields and drop_fields for "
        "fields, convert, replace, lowercase and timestamp for values, dissect, grok, decode_csv_fields and "
        "decode_json_fields for parsing, and drop_event; select events with 'when' or if/then/else"
    ),
    "decode_xml_wineventlog": "Windows events are not read; decode_xml parses other XML",
    "translate_sid": _NO_DIRECTORY,
    "translate_ldap_attribute": _NO_DIRECTORY,
    "parse_aws_vpc_flow_log": "use dissect",
    "add_session_metadata": "it belongs to Auditbeat",
}
PROCESSOR_IGNORED = dict.fromkeys(
    ("add_cloudfoundry_metadata", "add_nomad_metadata", "add_observer_metadata"),
    "not supported; set fixed values with add_fields",
)
PROVIDERS_NOT_YET = {
    "nomad": "write an input with the log paths of its allocations",
    "jolokia": "it is for Metricbeat",
    "aws_elb": "load balancers have no log files on this host",
    "aws_ec2": "other cloud instances have no log files on this host",
    "cloudfoundry": "",
}
KUBERNETES_PROVIDER_IGNORED = {
    "sync_period": "after a broken watch, the shipper lists everything again",
    "leader_lease": "there is no leader election",
    "in_cluster": "without kube_config, the pod's own service account is used",
    "use_kubeadm": _ELSEWHERE,
}
