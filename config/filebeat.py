"""Options that Filebeat has and we do not, dotted, relative to their section: name -> what to say about it.

NOT_YET would change what is shipped, so it is an error. IGNORED changes not one line when it is left out: a note.
"""

_ELSEWHERE = "nothing here uses it"
_TUNING = "batches, requests and retries are sized by the shipper itself; librdkafka: takes raw settings"
_STDERR = "logs go to stderr, where the service manager keeps them"

ROOT_NOT_YET = {
    "processors": "",
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
    "processors": "",
    "multiline": "it belongs below parsers, as '- multiline:'",
    "include_lines": "",
    "exclude_lines": "",
    "ignore_older": "",
    "ignore_inactive": "",
    "file_identity": "a file is known by device, inode and the bytes of its head",
    "clean_inactive": "",
    "clean_removed": "",
    "line_terminator": "",
    "exclude_files": "it belongs below prospector.scanner",
    "scan_frequency": "it is prospector.scanner.check_interval here",
    "json": "it belongs below parsers, as '- ndjson:'",
    "pipeline": "",
    "index": "",
    "keep_null": "",
    "publisher_pipeline": "",
    "take_over": "",
    "compression": "",
    "include_file_owner_name": "",
    "include_file_owner_group_name": "",
    "harvester_limit": "",
    "delete": "",
    "max_bytes": "it is message_max_bytes here",
    "tail_files": "",
    "close_inactive": "it is close.on_state_change.inactive here",
}
INPUT_IGNORED = {
    "buffer_size": "reads are sized by the shipper itself",
    "backoff": "a file event wakes the reader up",
}
SCANNER_NOT_YET = dict.fromkeys(("exclude_files", "include_files", "symlinks", "resend_on_touch", "recursive_glob"), "")
SCANNER_IGNORED = {"fingerprint": "heads of files are compared in any case, from the first byte on"}
CLOSE_NOT_YET = {"reader": ""}
STATE_CHANGE_NOT_YET = dict.fromkeys(("renamed", "removed", "check_interval"), "")
PARSER_NOT_YET = dict.fromkeys(("ndjson", "container", "syslog", "include_message"), "")
MULTILINE_NOT_YET = dict.fromkeys(("flush_pattern", "count_lines", "skip_newline"), "")
