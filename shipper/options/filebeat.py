"""Filebeat's options that the shipper does not have: dotted name, relative to the section -> the reason.

Those in NOT_YET would change what is shipped, so they are errors. Those in IGNORED change no line: a note is logged.
"""

_ELSEWHERE = "the shipper does not use it"
_TUNING = "the shipper sizes batches, requests and retries itself; set raw client settings below librdkafka"
_READS = "the shipper sizes its reads itself"
_WOKEN = "a file event wakes the reader"

_MODULES = (
    "the files of an enabled module are inputs, with event.module, event.dataset, fileset.name and service.type; "
    "nothing parses their lines"
)
_SPOOL = "an old option, today queue.mem; batches form by themselves under load"
ROOT_NOT_YET = {
    "filebeat.config_dir": "its files repeat filebeat.prospectors; name files with lists of inputs in "
    "filebeat.config.inputs.path",
    "hostname": "host.name in events is set by `name`",
    "features.fqdn": "host.name is the system's host name; set another one by `name`",
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
    "strict.perms": "it is a flag of the command line: --strict.perms=false",
    "filebeat.modules": _MODULES,
    "filebeat.config.modules": _MODULES,
    "filebeat.spool_size": _SPOOL,
    "filebeat.idle_timeout": _SPOOL,
    "filebeat.publish_async": _SPOOL,
}
HTTP_IGNORED = {"named_pipe": "named pipes belong to Windows", "pprof": "it is a profiler of programs in Go"}
OUTPUT_NOT_YET = dict.fromkeys(
    ("elasticsearch", "logstash", "redis", "discard", "http", "otelconsumer"),
    "send to Kafka (output.kafka) and forward from there with Logstash, Kafka Connect or the Spark sink; output.file "
    "and output.console need no broker",
)
KAFKA_NOT_YET = {"proxy_url": ""}
KAFKA_IGNORED = {"allow_auto_topic_creation": "the broker decides"} | dict.fromkeys(
    ("worker", "workers", "loadbalance", "retry"), _TUNING
)
KAFKA_INPUT_NOT_YET = {
    "expand_event_list_from_field": "each record is one event, named by its offset; decode the list at its destination",
}
CONSOLE_IGNORED = {"bulk_max_size": _TUNING}
QUEUE_NOT_YET = {"spool": "an experiment that Filebeat has removed; queue.disk is what came after it"}
REGISTRY_IGNORED = {"migrate_file": _ELSEWHERE, "backend": _ELSEWHERE, "cleanup_interval": _ELSEWHERE}
LOG_FILES_IGNORED = {
    "suffix": "the newest file is always 'name', and the one before it 'name.1'",
}
QUEUE_MEM_IGNORED = {
    "immediate_shutdown": "what is not acknowledged is sent again at the next start, however long a stop waits"
}
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
    "the shipper reads files and standard input: write it to a file first, or leave this input to Filebeat",
)
INPUT_NOT_YET = {
    "seek_to_tail": "ignore_inactive: since_last_start leaves out files without new lines; type: log has tail_files",
    "legacy_clean_inactive": "set clean_inactive to -1, or to more than ignore_older + check_interval",
    "allow_deprecated_id_duplication": "every input needs its own id",
    "gzip_experimental": "it is now compression: auto",
}
INPUT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "rotation": "a rotated file is recognised by device, inode and content",
}
SOCKET_NOT_YET = {
    "parsers": "this type has none in Filebeat either; use processors, or type: syslog for its header",
}
FLAT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "backoff_factor": _WOKEN,
    "max_backoff": _WOKEN,
    "scan.sort": "files are read in fair turns",
    "scan.order": "files are read in fair turns",
    "allow_deprecated_use": "this type of input remains supported",
}
HTTP_INPUT_NOT_YET = {
    "program": "there is no Common Expression Language here: send one object an event, or use processors",
    "crc": "challenges of webhook providers are not answered; use secret.header or hmac",
}
HTTP_INPUT_IGNORED = {"tracer": "requests are not written to a file; refused ones are in the log"}
# Options of the other input types -> the name of the same option here.
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
_OWN_BACKOFF = "a journalctl that ended is started again after one second, and at most a minute"
JOURNALD_IGNORED = {"backoff": _OWN_BACKOFF, "max_backoff": _OWN_BACKOFF}
_NO_DIRECTORY = "it queries Windows or a directory service"
PROCESSOR_NOT_YET = {
    "script": "left out on purpose: a program in the configuration has no bounds; rename, move_fields and drop_fields "
    "change fields, convert, replace, lowercase and timestamp change values, dissect, grok, decode_csv_fields and "
    "decode_json_fields parse texts, drop_event drops events, and 'when' or if/then/else decide for which",
    "decode_xml_wineventlog": "events of Windows are not read; decode_xml parses other XML",
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
    "nomad": "write an input whose paths are the logs of its allocations",
    "jolokia": "it is for Metricbeat",
    "aws_elb": "load balancers have no log files on this host",
    "aws_ec2": "instances of a cloud have no log files on this host",
    "cloudfoundry": "",
}
KUBERNETES_PROVIDER_IGNORED = {
    "sync_period": "what the watch misses is listed again when it has broken off",
    "leader_lease": "there is no election",
    "in_cluster": "the account of the agent's own pod is used without kube_config",
    "use_kubeadm": _ELSEWHERE,
}
