"""What a configuration of Filebeat's is answered: one message for one cause, which says the right thing and the way
out. A warning or a note does not refuse the configuration."""

import pytest

from log_shipper.config.yaml.errors import ConfigError
from tests.config_lab import ConfigLab

INPUT = "filebeat.inputs: [{type: filestream, id: app, paths: [/var/log/app.log]}]\n"
OUTPUT = "output.kafka: {hosts: ['kafka:9092'], topic: logs}\n"
WHOLE = INPUT + OUTPUT


def messages(lab: ConfigLab, text: str) -> list[str]:
    """All messages, without the name of the file."""
    try:
        config = lab.load(text)
    except ConfigError as error:
        reported = str(error).splitlines()
    else:
        reported = [*(f"warning: {warning}" for warning in config.warnings), *config.notes]
    return [line.replace(f"{lab.file}:", "") for line in reported]


MISTAKES = [
    (INPUT + "output.elasticsearch.hosts: [x]\n", "output.elasticsearch: not supported; send to Kafka (output.kafka)"),
    (
        OUTPUT + "filebeat.autodiscover.providers: [{type: docker}]\n",
        "no container would be read; set hints.enabled: true",
    ),
    (OUTPUT + "filebeat.config_dir: /etc/filebeat/conf.d\n", "list input files in filebeat.config."),
    (OUTPUT + "filebeat.modules: [{module: zeek}]\n", "module zeek is not supported"),
    (INPUT + "output.kafka: {hosts: [h], topics: [{topic: 'a b'}]}\n", "is not a valid topic name"),
    (WHOLE + "fields_under_root: true\nfields.host.name: 1\n", "4: fields.host.name: must be a string"),
    (WHOLE + "fields_under_root: true\nfields: {message: x}\n", "4: fields.message: would replace the line of every"),
    (WHOLE + "fields_under_root: true\nfields.log: x\n", "4: fields.log: would replace log.offset and log.file.id"),
    (
        WHOLE + "fields_under_root: true\nfields.log.offset: 1\n",
        "4: fields.log.offset: would replace fields that identify an",
    ),
    (
        OUTPUT + "filebeat.inputs:\n- {paths: [x], fields_under_root: true, fields: {'@timestamp': x}}\n",
        "3: filebeat.inputs[0].fields.@timestamp: would replace the time of every event",
    ),
    (
        WHOLE + "processors:\n- drop_event.when.not.equals: {kubernetes.labels.app: web}\n",
        "4: processors[0].drop_event.when: tests kubernetes.labels.app, which nothing sets here, so it has",
    ),
    (
        WHOLE + "processors:\n- if.has_fields: [cloud.region]\n  then: [{drop_event.when.equals: {a: b}}]\n",
        "4: processors[0].if: tests cloud.region, which nothing sets here, so it has the same result for every",
    ),
    (
        INPUT + "output.kafka: {hosts: [h], topic: a, topics: [{topic: b, when.contains: {cloud.region: x}}]}\n",
        "2: output.kafka.topics[0].when: tests cloud.region, which nothing sets",
    ),
    (WHOLE + "hostname: web-1\n", "`name` sets host.name in events"),
    (WHOLE + "features.fqdn.enabled: true\n", "override it with `name`"),
    (
        WHOLE + "timestamp.precision: nanosecond\n",
        "timestamp.precision: must be millisecond, the precision of all records",
    ),
    (WHOLE + "queue.spool.file.size: 1GB\n", "an experiment that Filebeat removed"),
    (WHOLE + "processors: [{drop_event: {wen.equals: {a: b}}}]\n", "wen: unknown option; did you mean 'when'?"),
    (WHOLE + "processors: [{add_fields: {fields: {a: b}, taget: ''}}]\n", "did you mean 'target'?"),
    (WHOLE + "processors: [{add_session_metadata: ~}]\n", "not supported; it belongs to Auditbeat"),
    (WHOLE + "processors: [{script: {lang: javascript}}]\n", "and drop_event; select"),
    (OUTPUT + "filebeat.inputs: [{type: lumberjack}]\n", "'lumberjack' is not supported; the shipper reads files"),
    (OUTPUT + "filebeat.inputs: [{type: lgo, paths: [x]}]\n", "'lgo' is unknown; did you mean 'log'?"),
    (OUTPUT, "shipper.inputs: missing; list the inputs, as in"),
    (OUTPUT + "filebeat.shutdown_timeout: 1s\n", "filebeat.inputs: missing; list the inputs, as in"),
]

WARNINGS = [
    (OUTPUT + "filebeat.prospectors: [{paths: [x]}]\n", "filebeat.prospectors: an old name, now filebeat.inp"),
    (WHOLE + "filebeat.registry_file: r\n", "now filebeat.registry.path, which names a directory"),
    (WHOLE + "filebeat.registry_flush: 1s\n", "now filebeat.registry.flush"),
    (WHOLE + "filebeat.max_procs: 2\n", "filebeat.max_procs: unknown option; did you mean 'max_procs'?"),
    (WHOLE + "max_message_bytes: 2\n", "did you mean 'output.kafka.max_message_bytes'?"),
    (
        INPUT + "output.kafka: {hosts: [h], topic: a, ssl: {enabled: false, max_message_bytes: 1MB}}\n",
        "output.kafka.ssl.max_message_bytes: unknown option; it belongs to output.kafka: reduce its indentation",
    ),
    (
        INPUT + "output.kafka: {hosts: [h], topic: a, tags: [x]}\n",
        "output.kafka.tags: unknown option; it belongs to the top level: reduce its indentation",
    ),
    (
        WHOLE + "processors: [{dissect: {tokenizer: '%{a} %{b}', taget_prefix: x}}]\n",
        "did you mean 'target_prefix'?",
    ),
    (
        INPUT + "output.kafka: {hosts: [h], topic: a, close_inactive: 1h}\n",
        "output.kafka.close_inactive: unknown option; it belongs to an item of inputs",
    ),
    (WHOLE + "paths: [x]\n", "paths: unknown option; did you mean 'path'?"),
    (WHOLE + "tail_files: true\n", "tail_files: unknown option; it belongs to an item of inputs"),
    (WHOLE + "loggins.level: info\n", "did you mean 'logging'?"),
    (WHOLE + "name: a\nname: b\n", "name: duplicate of line 3; keep one"),
    (OUTPUT + "filebeat.inputs: [{type: filestream, paths: [x]}]\n", "id: missing; every filestream input needs its"),
    (OUTPUT + "filebeat.inputs: [{type: filestream, id: a, paths: [x], json: {}}]\n", "'- ndjson:' below parsers"),
    (OUTPUT + "filebeat.inputs: [{type: log, paths: [x], enable: true}]\n", "did you mean 'enabled'?"),
    (OUTPUT + "filebeat.inputs: [{type: log, paths: [x], fileds: {a: b}}]\n", "did you mean 'fields'?"),
    (OUTPUT + "filebeat.inputs: [{type: log, paths: [x], tags_on_failure: y}]\n", "it may belong to another section"),
]

NOTES = [
    (WHOLE + "filebeat.spool_size: 1\n", "an old option, now queue.mem"),
    (WHOLE + "filebeat.idle_timeout: 1s\n", "an old option, now queue.mem"),
    (WHOLE + "filebeat.publish_async: true\n", "an old option, now queue.mem"),
    (WHOLE + "http.named_pipe.user: x\n", "named pipes exist only on Windows"),
    (WHOLE + "http.pprof.enabled: true\n", "it profiles Go programs"),
    (WHOLE + "migration.6_to_7.enabled: true\n", "the shipper does not use it"),
    (WHOLE + "strict.perms: false\n", "use the command-line flag --strict.perms=false"),
    (WHOLE + "queue.mem.immediate_shutdown: true\n", "unacknowledged events are always resent at the next start"),
    (WHOLE + "filebeat.config.modules.path: /no/such/*.yml\n", "the module's files are read with"),
    (WHOLE + "output.elasticsearch: {enabled: false}\n", "not enabled"),
    (WHOLE + "features.fqdn.enabled: false\n", "not enabled"),
]


REMARKS = [
    (
        WHOLE + "fields_under_root: true\nfields.host: web-1\n",
        "fields.host (4): left out, as in Filebeat: events keep the object of host.name; write host.name",
    ),
    *[
        (f"{WHOLE}processors:\n- {processor}\n", f"{place} (4): names log, which is an object in every event")
        for processor, place in (
            ("drop_event.when.contains.log: GET", "processors[0].drop_event.when"),
            ("if: {has_fields: [log]}\n  then: [add_tags: {tags: [a]}]", "processors[0].if"),
            ("copy_fields: {fields: [{from: log, to: a}]}", "processors[0].copy_fields"),
            ("decode_json_fields: {fields: [log]}", "processors[0].decode_json_fields"),
        )
    ],
]


def only(lab: ConfigLab, text: str) -> str:
    (message,) = messages(lab, text)
    return message


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_reported_once_with_the_way_out(lab: ConfigLab, text: str, message: str) -> None:
    reported = only(lab, text)
    assert message in reported
    assert not reported.startswith(("warning: ", "ignored: "))


@pytest.mark.parametrize(("text", "message"), WARNINGS)
def test_what_filebeat_ignores_is_one_warning(lab: ConfigLab, text: str, message: str) -> None:
    reported = only(lab, text)
    assert message in reported
    assert reported.startswith("warning: ")


@pytest.mark.parametrize(("text", "message"), REMARKS)
def test_what_is_no_mistake_and_should_be_known_is_one_note(lab: ConfigLab, text: str, message: str) -> None:
    assert only(lab, text).startswith(message)


def test_a_field_that_is_added_to_the_object_log_is_no_remark(lab: ConfigLab) -> None:
    assert messages(lab, WHOLE + "processors: [add_fields: {target: log, fields: {a: 1}}]\n") == []


@pytest.mark.parametrize(("text", "message"), NOTES)
def test_what_changes_no_record_is_one_note(lab: ConfigLab, text: str, message: str) -> None:
    reported = only(lab, text)
    assert message in reported
    assert reported.startswith("ignored: ")


@pytest.mark.parametrize("text", [text for text, _ in WARNINGS if "prospectors" not in text])
def test_in_a_configuration_of_our_own_the_same_is_a_mistake(lab: ConfigLab, text: str) -> None:
    with pytest.raises(ConfigError):
        lab.load(text.replace("filebeat.inputs", "shipper.inputs"))


def test_a_misspelt_option_is_reported_beside_the_mistake_that_comes_of_it(lab: ConfigLab) -> None:
    assert messages(lab, INPUT + "output.kafka: {host: [h], topic: logs}\n") == [
        "2: output.kafka.hosts: missing; name at least one broker, as in 'hosts: [\"localhost:9092\"]'",
        "warning: 2: output.kafka.host: unknown option; did you mean 'hosts'?",
    ]


@pytest.mark.parametrize("to", ["log", "log.file", "log.offset"])
def test_renaming_to_what_every_event_keeps_is_a_remark(lab: ConfigLab, to: str) -> None:
    text = f"{WHOLE}processors:\n- rename.fields: [{{from: message, to: {to}}}]\n"
    (note,) = [message for message in messages(lab, text) if "rename" in message]
    assert note.endswith(f"every event already has {to}, so this always fails; choose another name")


def test_what_is_given_twice_in_a_section_that_is_not_used_is_no_mistake(lab: ConfigLab) -> None:
    warning, note = messages(lab, WHOLE + "setup.template.settings: {a: 1}\nsetup.template.settings: {b: 1}\n")
    assert warning == "warning: 4: setup.template.settings: duplicate of line 3; keep one"
    assert note.startswith("ignored: setup ")


def test_a_file_where_the_registry_should_be_is_a_mistake(lab: ConfigLab) -> None:
    file = lab.file.parent / "registry"
    file.touch()
    (mistake, _) = messages(lab, f"{WHOLE}filebeat.registry_file: {file}\n")
    assert mistake.endswith(": is a file, perhaps a registry of Filebeat 6; name a directory, existing or new")


def test_of_a_key_that_is_given_twice_the_last_counts(lab: ConfigLab) -> None:
    assert lab.load(WHOLE + "name: a\nname: b\n").name == "b"
