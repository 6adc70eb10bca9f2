"""Options that Filebeat has and we do not, dotted, relative to their section: name -> what to say about it.

NOT_YET would change what is shipped, so it is an error. IGNORED changes not one line when it is left out: a note.
"""

_ELSEWHERE = "nothing here uses it"
_TUNING = "batches, requests and retries are sized by the shipper itself; librdkafka: takes raw settings"
_READS = "reads are sized by the shipper itself"
_WOKEN = "a file event wakes the reader up"
_STDERR = "logs go to stderr, where the service manager keeps them"

ROOT_NOT_YET = {
    "filebeat.autodiscover": "",
    "filebeat.config.inputs": "inputs are read from one file",
    "shipper.config.inputs": "inputs are read from one file",
    "filebeat.config_dir": "inputs are read from one file",
    "keystore": "variables of the environment (${VAR}) hold secrets",
}
ROOT_IGNORED = {
    "setup": _ELSEWHERE,
    "monitoring": _ELSEWHERE,
    "http": _ELSEWHERE,
    "cloud": _ELSEWHERE,
    "xpack": _ELSEWHERE,
    "apm": _ELSEWHERE,
    "instrumentation": _ELSEWHERE,
    "features": _ELSEWHERE,
    "seccomp": _ELSEWHERE,
    "max_procs": _ELSEWHERE,
    "filebeat.modules": "modules are a set of ready-made inputs; write their paths as inputs",
    "filebeat.config.modules": "modules are a set of ready-made inputs; write their paths as inputs",
}
OUTPUT_NOT_YET = dict.fromkeys(
    ("elasticsearch", "logstash", "redis", "discard", "http"), "the outputs are kafka, console and file"
)
KAFKA_NOT_YET = {
    "topics": "one topic an output",
    "headers": "",
    "codec": "the record is JSON",
    "kerberos": "",
    "proxy_url": "",
}
KAFKA_IGNORED = {
    "key": "the key is the file id: it keeps a file's lines in order",
    "partition": "a file's lines stay in one partition, by the hash of the file id",
    "required_acks": "a position moves only over what all in-sync replicas have (-1)",
    "allow_auto_topic_creation": "the broker decides",
} | dict.fromkeys(
    (
        "worker",
        "workers",
        "max_retries",
        "retry",
        "metadata",
        "bulk_max_size",
        "bulk_flush_frequency",
        "timeout",
        "broker_timeout",
        "channel_buffer_size",
        "keep_alive",
        "loadbalance",
        "queue",
    ),
    _TUNING,
)
SSL_NOT_YET = dict.fromkeys(
    ("supported_protocols", "cipher_suites", "curve_types", "renegotiation", "ca_trusted_fingerprint", "ca_sha256"),
    "librdkafka: takes raw settings",
)
CONSOLE_IGNORED = {"codec": "the record is JSON", "bulk_max_size": _TUNING}
FILE_NOT_YET = dict.fromkeys(
    ("rotate_every_kb", "number_of_files", "permissions", "rotate_on_startup"), "the file only grows"
)
FILE_IGNORED = {"codec": "the record is JSON"}
QUEUE_NOT_YET = {"disk": "the log files themselves are the queue: the shipper waits and reads on"}
QUEUE_IGNORED = dict.fromkeys(("flush",), "under load batches form by themselves")
LOGGING_IGNORED = dict.fromkeys(
    ("to_files", "to_stderr", "to_syslog", "to_eventlog", "files", "event_data"), _STDERR
) | dict.fromkeys(("metrics", "selectors", "json", "ecs", "with_fields"), _ELSEWHERE)
INPUT_NOT_YET = {
    "json": "it belongs below parsers, as '- ndjson:'",
    "pipeline": "",
    "index": "",
    "take_over": "'shipper registry import filebeat' takes over positions",
    "include_file_owner_name": "",
    "include_file_owner_group_name": "",
    "read_until_eof": "",
    "seek_to_tail": "",
    "legacy_clean_inactive": "",
    "allow_deprecated_id_duplication": "each input needs an id of its own",
    "gzip_experimental": "it is compression: auto now",
}
INPUT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "rotation": "a rotated file is recognised by device, inode and content",
}
SCANNER_NOT_YET = {"resend_on_touch": "a file that was touched and holds the same is not sent again"}
FLAT_NOT_YET = {
    "json": "",
    "pipeline": "",
    "index": "",
}
FLAT_IGNORED = {
    "buffer_size": _READS,
    "harvester_buffer_size": _READS,
    "backoff": _WOKEN,
    "backoff_factor": _WOKEN,
    "max_backoff": _WOKEN,
    "scan.sort": "files are read in fair turns",
    "scan.order": "files are read in fair turns",
    "allow_deprecated_use": "this type of input stays",
}
# What the other types of input call an option of this one.
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
FILESTREAM_NAMES = {ours: theirs for theirs, ours in FLAT_NAMES.items()} | {
    "multiline": "'- multiline:' below parsers",
}
STDIN_NAMES = {name: FLAT_NAMES[name] for name in ("message_max_bytes", "parsers")}
PARSER_NOT_YET = dict.fromkeys(("ndjson", "container", "syslog", "include_message"), "")
MULTILINE_NOT_YET = dict.fromkeys(("flush_pattern", "count_lines", "skip_newline"), "")
