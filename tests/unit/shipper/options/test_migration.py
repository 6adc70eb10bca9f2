"""`shipper migrate`: the same configuration in today's names."""

from dataclasses import replace

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.shipper.options.migration import migrate
from log_shipper.shipper.options.model import ShipperConfig
from tests.config_lab import ConfigLab

BEFORE = """\
# Of 2016.
filebeat:
  prospectors:   # what is read
    # the shop
    - input_type: log
      paths: ["/var/log/shop.log"]   # one file
      document_type: shop
      close_older: 1h

    -
      paths: [/var/log/b.log]
      force_close_files: true  # at once
      # its end
  registry_file: "/var/lib/registry"
filebeat.registry_flush: 2s
output.console: {pretty:   true}
"""
AFTER = """\
# Of 2016.
filebeat:
  inputs:   # what is read
    # the shop
    - type: log
      paths: ["/var/log/shop.log"]   # one file
      processors: [{add_fields: {target: '', fields.type: shop}}]
      close_inactive: 1h

    -
      type: log
      paths: [/var/log/b.log]
      close_renamed: true
      close_removed: true  # at once
      # its end
  registry.path: "/var/lib/registry"
filebeat.registry.flush: 2s
output.console: {pretty:   true}
"""


def migrated(lab: ConfigLab, text: str) -> str:
    lab.file.write_text(text)
    return migrate(lab.file).text


def test_only_what_has_another_name_is_replaced(lab: ConfigLab) -> None:
    assert migrated(lab, BEFORE) == AFTER


def test_every_change_is_reported_with_its_line(lab: ConfigLab) -> None:
    lab.file.write_text(BEFORE)
    assert [change.replace(f"{lab.file}:", "") for change in migrate(lab.file).changes] == [
        "3: filebeat.prospectors is renamed to filebeat.inputs",
        "5: input_type becomes type",
        "7: document_type becomes the processor add_fields",
        "8: close_older becomes close_inactive",
        "11: input without type becomes type: log",
        "12: force_close_files becomes close_renamed and close_removed",
        "14: filebeat.registry_file is renamed to filebeat.registry.path",
        "15: filebeat.registry_flush is renamed to filebeat.registry.flush",
    ]


def loaded(lab: ConfigLab, text: str) -> ShipperConfig:
    return replace(lab.load(text), warnings=(), notes=())


INPUTS = [
    "- {paths: [x], close_older: 1h, document_type: a}",
    "- {document_type: a, paths: [x], processors: [add_tags.tags: b]}",
    "- {paths: [x], processors: {add_tags.tags: b}, document_type: a}",
    "- {paths: [x], processors: , document_type: a}",
    "- type: log\n  document_type: a\n  paths: [x]\n  processors:\n    - add_tags:\n        tags: [b]\n    - add_id: ~",
    "- document_type: a\n  combine_partials: true\n  paths: [x]\n  type: log",
    "- type: log\n  paths: [x]\n  close_older: 1h\n  close_inactive: 2h\n# the end",
    "- {type: log, close_inactive: 2h, close_older: 1h, paths: [x]}",
    "- type: docker\n  containers:\n    ids:\n      - a\n      - b  # more\n    stream: stdout\n  tags: [x]",
    "- type: docker\n  containers.ids: '*'\n  containers.path: /data/\n  tags: [x]",
    "- {type: docker}",
    "- {type: filestream, id: a, paths: [x], take_over: true}",
    "- type: docker\n  combine_partials: true",
    "- type: filestream\n  paths: [x, y]",
    "- type: filestream\n  paths: x",
]


@pytest.mark.parametrize("inputs", INPUTS)
@pytest.mark.parametrize("key", ["filebeat.inputs", "filebeat.prospectors"])
def test_the_result_is_the_same_configuration_without_a_warning(lab: ConfigLab, key: str, inputs: str) -> None:
    before = f"{key}:\n{inputs}\noutput.console: {{}}\n"
    after = migrated(lab, before)
    assert loaded(lab, after) == loaded(lab, before)
    assert lab.load(after).warnings == ()
    assert migrated(lab, after) == after


KEPT = "- {type: container, paths: [x], containers.stream: stderr}\n- {type: log, paths: [x], document_type: }\n"


def test_a_file_of_inputs_is_migrated_too(lab: ConfigLab) -> None:
    assert migrated(lab, "- input_type: log\n  paths: [x]\n") == "- type: log\n  paths: [x]\n"


def test_a_section_keeps_its_options(lab: ConfigLab) -> None:
    before = "filebeat.config:\n  prospectors:\n    enabled: true\n    path: x\n"
    assert migrated(lab, before) == before.replace("prospectors", "inputs")


@pytest.mark.parametrize("text", ["", "# nothing\n", "5\n", "filebeat.inputs:\n- \n- 5\n- {}\n", KEPT])
def test_where_there_is_nothing_old_nothing_changes(lab: ConfigLab, text: str) -> None:
    assert migrated(lab, text) == text


def test_where_both_names_are_written_the_old_one_stays(lab: ConfigLab) -> None:
    text = "filebeat.prospectors: []\nfilebeat.inputs: []\n"
    assert migrated(lab, text) == text


def test_what_is_not_yaml_is_reported_with_its_line(lab: ConfigLab) -> None:
    with pytest.raises(ConfigError, match="3: is not YAML"):
        migrated(lab, "a: 1\nb: [\n")


OF_OTHER_TYPES = [
    ("{type: filestream, id: a, paths: [x], close_inactive: 1m}", "close.on_state_change.inactive: 1m"),
    ("{type: filestream, id: a, paths: [x], scan_frequency: 3s}", "prospector.scanner.check_interval: 3s"),
    ("{type: log, paths: [x], close.reader.on_eof: true}", "close_eof: true"),
    ("{paths: [x], message_max_bytes: 1000}", "max_bytes: 1000"),
    ("{type: filestream, id: a, paths: [x], path: y}", "paths: [x]}"),
    ("{type: journald, id: a, include_matches: [A=b]}", "include_matches.match: [A=b]"),
]


@pytest.mark.parametrize(("written", "today"), OF_OTHER_TYPES)
def test_a_name_of_another_type_becomes_that_of_this_one(lab: ConfigLab, written: str, today: str) -> None:
    before = f"filebeat.inputs: [{written}]\noutput.console: {{}}\n"
    assert lab.load(before).warnings
    after = migrated(lab, before)
    assert today in after
    assert lab.load(after).warnings == ()


OF_FILEBEAT = """\
filebeat:   # all of it
  prospectors: [{type: log, paths: [x]}]
  spool_size: 10
filebeat.registry_flush: 2s
setup.kibana:
  host: x
# no metrics
monitoring.enabled: false
output.console: {}
"""


def test_strict_names_are_the_shippers_and_what_only_filebeat_uses_is_left_out(lab: ConfigLab) -> None:
    lab.file.write_text(OF_FILEBEAT)
    result = migrate(lab.file, strict=True)
    assert result.text == (
        "shipper:   # all of it\n  inputs: [{type: log, paths: [x]}]\nshipper.registry.flush: 2s\n"
        "# no metrics\noutput.console: {}\n"
    )
    assert [change.replace(f"{lab.file}:", "") for change in result.changes] == [
        "1: filebeat is renamed to shipper",
        "2: filebeat.prospectors is renamed to filebeat.inputs",
        "3: filebeat.spool_size is removed: the shipper does not use it",
        "4: filebeat.registry_flush is renamed to shipper.registry.flush",
        "5: setup.kibana is removed: the shipper does not use it",
        "8: monitoring.enabled is removed: the shipper does not use it",
    ]
    assert loaded(lab, result.text) == loaded(lab, OF_FILEBEAT)
    assert lab.load(result.text).notes == ()


def test_modules_keep_their_names_which_are_filebeats(lab: ConfigLab) -> None:
    text = "filebeat: {modules: [{module: nginx}]}\nfilebeat.modules: []\noutput.console: {}\n"
    lab.file.write_text(text)
    assert migrate(lab.file, strict=True).text == text
