"""The members of an event are those that Filebeat makes of the same entry."""

from typing import Any

import pytest

from log_shipper.shipper.inputs.journald.conversion import Conversion, capability_names, message_of

EVENT = {"kind": "event", "created": "2026-11-25T09:00:00.000Z"}
SHARED = {"log": {"file": {"id": "f"}}, "host": {"name": "web-1"}, "tags": ["a"]}
# An entry as Filebeat's own tests have it (input-multiline-parser.export), and what is made of it there.
SUDO = {
    "_AUDIT_LOGINUID": "1000",
    "_AUDIT_SESSION": "1",
    "_BOOT_ID": "a05ba5675e444581b00ac5adf4340819",
    "_CAP_EFFECTIVE": "3",
    "_CMDLINE": 'sudo "journalctl now" --user',
    "_COMM": "sudo",
    "_EXE": "/usr/bin/sudo",
    "_GID": "0",
    "_HOSTNAME": "x-wing",
    "_MACHINE_ID": "a6a19d57efcf4bf38705c63217a63ba3",
    "_PID": "2084586",
    "_SOURCE_REALTIME_TIMESTAMP": "1637601004051711",
    "_SYSTEMD_OWNER_UID": "1000",
    "_SYSTEMD_UNIT": "session-1.scope",
    "_TRANSPORT": "syslog",
    "_UID": "1000",
    "PRIORITY": "6",
    "SYSLOG_FACILITY": "10",
    "SYSLOG_IDENTIFIER": "sudo",
    "SYSLOG_TIMESTAMP": "Nov 22 18:10:04 ",
    "__MONOTONIC_TIMESTAMP": "5",
    "__REALTIME_TIMESTAMP": "1637601004051729",
}
SUDO_EVENT = {
    "event": EVENT,
    "host": {"name": "web-1", "hostname": "x-wing", "id": "a6a19d57efcf4bf38705c63217a63ba3"},
    "journald": {
        "audit": {"login_uid": 1000, "session": "1"},
        "custom": {"syslog_timestamp": "Nov 22 18:10:04 ", "realtime_timestamp": "1637601004051729"},
        "gid": 0,
        "host": {"boot_id": "a05ba5675e444581b00ac5adf4340819"},
        "pid": 2084586,
        "process": {
            "capabilities": "3",
            "command_line": 'sudo "journalctl now" --user',
            "executable": "/usr/bin/sudo",
            "name": "sudo",
        },
        "uid": 1000,
    },
    "log": {"syslog": {"appname": "sudo", "facility": {"code": 10}, "priority": 6}},
    "process": {
        "args": ["sudo", '"journalctl now"', "--user"],
        "args_count": 3,
        "command_line": 'sudo "journalctl now" --user',
        "pid": 2084586,
        "thread": {"capabilities": {"effective": ["CAP_CHOWN", "CAP_DAC_OVERRIDE"]}},
    },
    "systemd": {"owner_uid": 1000, "transport": "syslog", "unit": "session-1.scope"},
    "user": {"id": "1000", "group": {"id": "0"}},
}


def converted(entry: dict[str, Any], *, keep_null: bool = False, host: bool = False) -> dict[str, Any]:
    conversion = Conversion(SHARED, keep_null=keep_null, save_remote_hostname=host, is_changed=False)
    doc = conversion.document(dict(entry), EVENT)
    assert conversion.document(dict(entry), EVENT) == doc  # from what is kept
    return doc


def test_an_entry_has_filebeats_fields() -> None:
    assert converted(SUDO) == SUDO_EVENT


@pytest.mark.parametrize(
    ("entry", "path", "value"),
    [
        ({"SYSLOG_PID": "123,root"}, "log.syslog.procid", 123),
        ({"SYSLOG_PID": ""}, "log.syslog.procid", ""),
        ({"PRIORITY": 3}, "log.syslog.priority", 3),  # of another program than journalctl
        ({"MY_FIELD": 1.5}, "journald.custom.my_field", 1.5),
        ({"PRIORITY": ["3", "4"]}, "log.syslog.priority", ["3", "4"]),
        ({"CODE_LINE": "٣"}, "journald.code.line", "٣"),
        ({"MESSAGE_ID": "m"}, "message_id", "m"),
        ({"MY_FIELD": "x"}, "journald.custom.my_field", "x"),
        ({"_RUNTIME_SCOPE": "system"}, "journald.custom.runtime_scope", "system"),
        ({"COREDUMP_AUXV": [33, 0]}, "journald.custom.coredump_auxv", [33, 0]),
        ({"CONTAINER_ID_FULL": "abc", "CONTAINER_ID": "a"}, "container", {"id": "abc"}),
        ({"CONTAINER_PARTIAL_MESSAGE": "true"}, "tags", ["a", "partial_message"]),
        ({"_AUDIT_LOGINUID": "5", "_UID": "0", "_GID": "1"}, "user.effective", {"id": "0", "group": {"id": "1"}}),
        ({"_AUDIT_LOGINUID": "5", "_UID": "0", "_GID": "1"}, "user.id", "5"),
        ({"_PID": "1", "OBJECT_PID": "2"}, "process.pid", 2),
        ({"_UID": "1", "_GID": "1", "OBJECT_UID": "2"}, "user", {"id": "2", "group": {"id": "0"}}),
    ],
)
def test_a_field_is_converted_as_in_filebeat(entry: dict[str, Any], path: str, value: object) -> None:
    found: Any = converted(entry)
    for name in path.split("."):
        found = found[name]
    assert found == value


def test_fields_without_a_value_are_left_out_unless_they_are_wanted() -> None:
    assert converted({"BIG": None})["journald"] == {"custom": {}}
    assert converted({"BIG": None}, keep_null=True)["journald"] == {"custom": {"big": None}}


def test_the_hostname_is_kept_where_no_processor_changes_it() -> None:
    assert converted({"_HOSTNAME": "db"}, host=True)["log"] == {"source": {"address": "db"}}
    assert "log" not in converted({"_HOSTNAME": "db"})


def test_documents_that_may_be_changed_share_nothing() -> None:
    conversion = Conversion(SHARED, keep_null=False, save_remote_hostname=False, is_changed=True)
    first, second = (conversion.document(dict(SUDO), EVENT) for _ in range(2))
    first["host"]["name"] = first["process"]["args"][0] = first["event"]["kind"] = "changed"
    assert second == SUDO_EVENT


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), ([104, 105, 255], "hi\ufffd"), (["a", "b"], "a\nb"), ([[97], "b"], "a\nb"), (None, ""), ([300], "")],
)
def test_a_message_is_a_text_however_it_was_logged(value: object, text: str) -> None:
    assert message_of(value) == text


@pytest.mark.parametrize(
    ("mask", "names"),
    [("0", []), ("1", ["CAP_CHOWN"]), ("20000000001", ["CAP_CHOWN", "CAP_41"]), ("x", []), ("", []), ("1" * 17, [])],
)
def test_capabilities_are_named(mask: str, names: list[str]) -> None:
    assert capability_names(mask) == names
