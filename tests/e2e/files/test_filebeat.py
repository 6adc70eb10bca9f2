"""A configuration of Filebeat, read by the real process."""

from tests.e2e.files.local import LocalAgent, rotate

# As the old documentation of Filebeat's `log` input teaches to write it.
FILEBEAT_7 = """\
filebeat.inputs:
- type: log
  enabled: true
  paths:
    - {logs}/*.log
    - {logs}/deep/**/*.log
  exclude_files: ['\\.gz$', 'debug']
  fields:
    level: debug
    review: 1
  fields_under_root: false
  tags: ["web", "prod"]
  multiline.pattern: '^\\['
  multiline.negate: true
  multiline.match: after
  multiline.max_lines: 200
  multiline.timeout: 300ms
  max_bytes: 1048576
  encoding: utf-8
  symlinks: true
  recursive_glob.enabled: true
  scan_frequency: 300ms
  harvester_buffer_size: 16384
  harvester_limit: 100
  ignore_older: 24h
  clean_inactive: 48h
  clean_removed: true
  close_inactive: 2h
  close_renamed: false
  close_removed: true
  close_eof: false
  close_timeout: 0
  backoff: 1s
  max_backoff: 10s
  backoff_factor: 2
  tail_files: false
filebeat.registry.flush: 1s
path.data: {data}
name: web-1
output.file:
  path: {out}
  filename: {filename}
logging.level: info
logging.to_files: true
logging.files:
  path: /var/log/filebeat
  keepfiles: 7
setup.template.settings:
  index.number_of_shards: 1
"""

# As it was written in 2017, with what Filebeat ignores: a misspelt option, and one in the wrong section.
FILEBEAT_5 = """\
filebeat.prospectors:
- input_type: log
  paths:
    - {logs}/*.log
  document_type: shop
  close_older: 1h
  fields_under_root: true
  fields: {{host.role: db, agent: ours}}
  fileds: {{a: b}}
max_message_bytes: 1000000
filebeat.registry_file: {data}/positions
path.data: {data}
output.file:
  path: {out}
  filename: {filename}
"""


def write_config(agent: LocalAgent, text: str) -> None:
    agent._file.write_text(text)
    agent._file.chmod(0o600)


def test_a_filebeat_yml_of_version_7_with_all_the_old_names_of_type_log_runs_unchanged(agent: LocalAgent) -> None:
    write_config(
        agent,
        FILEBEAT_7.format(
            logs=agent.logs, data=agent.data, out=agent.destination.parent, filename=agent.destination.name
        ),
    )
    deep = agent.logs / "deep" / "er" / "deep.log"
    deep.parent.mkdir(parents=True)
    agent.append("[1] one", " at two", path=agent.path)
    agent.append("[1] below", path=deep)
    agent.append("[1] not wanted", path=agent.logs / "debug.log")
    agent.start()
    agent.await_messages("[1] one\n at two", "[1] below")
    rotate(agent.path)
    agent.append("[2] after the rotation")
    agent.await_messages("[2] after the rotation")
    assert agent.stop() == 0
    assert len(agent.all) == 3
    assert agent.events[0]["tags"] == ["web", "prod"]
    assert agent.events[0]["fields"] == {"level": "debug", "review": 1}
    assert agent.events[0]["input"]["type"] == "log"


def test_a_filebeat_yml_of_version_5_runs_with_warnings(agent: LocalAgent) -> None:
    write_config(
        agent,
        FILEBEAT_5.format(
            logs=agent.logs, data=agent.data, out=agent.destination.parent, filename=agent.destination.name
        ),
    )
    agent.append("one")
    agent.start()
    agent.await_messages("one")
    assert agent.stop() == 0
    (event,) = agent.events
    assert (event["type"], event["agent"], event["input"]["type"]) == ("shop", "ours", "log")
    assert event["host"].keys() == {"name", "role"}
    assert (agent.data / "positions" / "registry.db").exists()
    for warning in (
        "filebeat.prospectors: an old name, now filebeat.inputs",
        "did you mean 'fields'",
        "'output.kafka.max_message_bytes'",
    ):
        assert warning in agent.log
