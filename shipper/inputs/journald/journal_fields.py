"""Map the fields of journal entries to their names in events: those of Filebeat 9, for its processors and
dashboards."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from log_shipper.config.text.checks import Finding


@dataclass(frozen=True, slots=True)
class JournalField:
    """A field of the journal. `name`: dotted, in events; empty if the field is left out. `integer`: its text is a whole
    number."""

    name: str
    integer: bool = False


def _texts(**names: str) -> dict[str, JournalField]:
    return {journal: JournalField(name) for journal, name in names.items()}


def _integers(**names: str) -> dict[str, JournalField]:
    return {journal: JournalField(name, integer=True) for journal, name in names.items()}


LEFT_OUT = JournalField("")
PARTIAL = "CONTAINER_PARTIAL_MESSAGE"  # becomes a tag

# Other fields are put below journald.custom, in lower case and without leading underscores.
FIELDS: Mapping[str, JournalField] = {
    **_texts(
        COREDUMP_UNIT="journald.coredump.unit",
        COREDUMP_USER_UNIT="journald.coredump.user_unit",
        OBJECT_CMDLINE="journald.object.process.command_line",
        OBJECT_COMM="journald.object.process.name",
        OBJECT_EXE="journald.object.process.executable",
        OBJECT_SYSTEMD_SESSION="journald.object.systemd.session",
        OBJECT_SYSTEMD_UNIT="journald.object.systemd.unit",
        OBJECT_SYSTEMD_USER_UNIT="journald.object.systemd.user_unit",
        _KERNEL_DEVICE="journald.kernel.device",
        _KERNEL_SUBSYSTEM="journald.kernel.subsystem",
        _SYSTEMD_INVOCATION_ID="systemd.invocation_id",
        _SYSTEMD_USER_SLICE="systemd.user_slice",
        _UDEV_DEVLINK="journald.kernel.device_symlinks",
        _UDEV_DEVNODE="journald.kernel.device_node_path",
        _UDEV_SYSNAME="journald.kernel.device_name",
        UNIT="journald.unit",
        _AUDIT_SESSION="journald.audit.session",
        _BOOT_ID="journald.host.boot_id",
        _CAP_EFFECTIVE="journald.process.capabilities",
        _CMDLINE="journald.process.command_line",
        CODE_FILE="journald.code.file",
        CODE_FUNC="journald.code.func",
        _COMM="journald.process.name",
        _EXE="journald.process.executable",
        _HOSTNAME="host.hostname",
        _MACHINE_ID="host.id",
        MESSAGE="message",
        MESSAGE_ID="message_id",
        SYSLOG_IDENTIFIER="log.syslog.appname",
        _SYSTEMD_CGROUP="systemd.cgroup",
        _SYSTEMD_SESSION="systemd.session",
        _SYSTEMD_SLICE="systemd.slice",
        _SYSTEMD_UNIT="systemd.unit",
        _SYSTEMD_USER_UNIT="systemd.user_unit",
        _TRANSPORT="systemd.transport",
        CONTAINER_ID_FULL="container.id",
        CONTAINER_NAME="container.name",
        IMAGE_NAME="container.image.name",
    ),
    **_integers(
        OBJECT_AUDIT_LOGINUID="journald.object.audit.login_uid",
        OBJECT_AUDIT_SESSION="journald.object.audit.session",
        OBJECT_GID="journald.object.gid",
        OBJECT_PID="journald.object.pid",
        OBJECT_SYSTEMD_OWNER_UID="journald.object.systemd.owner_uid",
        OBJECT_UID="journald.object.uid",
        _AUDIT_LOGINUID="journald.audit.login_uid",
        CODE_LINE="journald.code.line",
        _GID="journald.gid",
        _PID="journald.pid",
        PRIORITY="log.syslog.priority",
        SYSLOG_FACILITY="log.syslog.facility.code",
        SYSLOG_PID="log.syslog.procid",
        _SYSTEMD_OWNER_UID="systemd.owner_uid",
        _UID="journald.uid",
    ),
    # The times are in @timestamp, or less precise; the container's id is whole in container.id.
    **dict.fromkeys(
        (
            "__MONOTONIC_TIMESTAMP",
            "_SOURCE_REALTIME_TIMESTAMP",
            "_SOURCE_MONOTONIC_TIMESTAMP",
            "__CURSOR",
            "CONTAINER_ID",
            "CONTAINER_TAG",
            PARTIAL,
        ),
        LEFT_OUT,
    ),
}
# By their names in events, including those of Filebeat before release 9.
_JOURNAL_NAMES = {
    **{field.name: journal for journal, field in FIELDS.items() if field.name},
    "container.id_truncated": "CONTAINER_ID",
    "container.log.tag": "CONTAINER_TAG",
    "container.partial": PARTIAL,
    "syslog.facility": "SYSLOG_FACILITY",
    "syslog.identifier": "SYSLOG_IDENTIFIER",
    "syslog.pid": "SYSLOG_PID",
    "syslog.priority": "PRIORITY",
}
_JOURNAL_NAME = re.compile(r"(?!__)[A-Z0-9_]+")  # journalctl refuses a match with any other name, and does not start


def check_match(match: str) -> Iterator[Finding]:
    if match == "+":
        return
    name, equals, _ = match.partition("=")
    if not name or not equals or "\0" in match:
        yield "", f"{match!r} must be FIELD=value, such as _SYSTEMD_UNIT=nginx.service, or + for OR"
    elif not _JOURNAL_NAME.fullmatch(_JOURNAL_NAMES.get(name, name)):
        yield (
            "",
            f"unknown field {name!r}: use its name in the journal, such as _SYSTEMD_UNIT, or in events, such as "
            "systemd.unit; journalctl -o verbose shows the fields of entries (names with a leading __ cannot be "
            "matched)",
        )


def journal_match(match: str) -> tuple[str, str]:
    """Return the journal's field, which may be written by its name in events, and the value."""
    name, _, value = match.partition("=")
    return _JOURNAL_NAMES.get(name, name), value
