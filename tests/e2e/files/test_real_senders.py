"""Senders that no one here wrote: rsyslog over UDP, TCP and TLS, and logger; for the journal systemd-cat.

RELP is not supported, so it is not among them.
"""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.ports import free_ports
from tests.certificates import CertificateDirectory
from tests.e2e.files.local import LocalAgent
from tests.e2e.running import await_true
from tests.real_journald import JOURNALD, RealJournal

RSYSLOGD = shutil.which("rsyslogd", path="/usr/sbin:/sbin")
LINES = 500
HOST = socket.gethostname()

pytestmark = pytest.mark.slow("starts syslog daemons")
with_rsyslog = pytest.mark.skipif(RSYSLOGD is None, reason="not installed: rsyslog (apt-get install rsyslog)")
with_gnutls = pytest.mark.skipif(
    not any(Path("/usr/lib").glob("*/rsyslog/lmnsd_gtls.so")), reason="not installed: rsyslog-gnutls"
)
with_logger = pytest.mark.skipif(shutil.which("logger") is None, reason="not installed: logger (bsdutils)")


def listen(agent: LocalAgent, **options: Any) -> None:
    agent.settings = {"shipper.inputs": [{"type": "syslog", "id": "s", "format": "auto", **options}]}
    agent.configure()
    agent.start()
    agent.await_log("listening at")


@contextmanager
def rsyslog(directory: Path, forwarding: str, *, settings: str = "") -> Iterator[Path]:
    """Forward the lines of a file, which is given, as those of a program `app`."""
    directory.mkdir()
    lines = directory / "app.log"
    lines.touch()
    config = directory / "rsyslog.conf"
    config.write_text(
        f"""\
global(workDirectory="{directory}" {settings})
module(load="imfile" mode="inotify")
input(type="imfile" file="{lines}" tag="app[77]:" severity="err" facility="local3")
action(type="omfwd" target="localhost" action.resumeRetryCount="-1" action.resumeInterval="1" {forwarding})
"""
    )
    assert RSYSLOGD is not None
    command = [RSYSLOGD, "-n", "-f", str(config), "-i", str(directory / "pid")]
    with (directory / "stderr").open("wb") as stderr:
        process = subprocess.Popen(command, stderr=stderr)
    try:
        yield lines
    finally:
        process.terminate()
        process.wait()


def expect(agent: LocalAgent, messages: Sequence[str], **syslog: Any) -> None:
    """Wait for the messages, each once and in order, with these members of log.syslog."""
    await_true(lambda: len(agent.messages) >= len(messages), lambda: f"all messages: {agent.log[-1000:]}")
    assert agent.all == list(messages)
    for event in agent.events:
        members = event["log"]["syslog"]
        assert {name: members.get(name) for name in syslog} == syslog
    assert agent.stop() == 0


FROM_RSYSLOG = {"hostname": HOST.partition(".")[0], "appname": "app", "procid": "77", "priority": 19 * 8 + 3}
TEMPLATES = [
    "RSYSLOG_SyslogProtocol23Format",  # RFC 5424
    "RSYSLOG_ForwardFormat",  # RFC 3164 with times of RFC 3339
    "RSYSLOG_TraditionalForwardFormat",  # RFC 3164
]


@with_rsyslog
@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("framing", ["traditional", "octet-counted"])
def test_rsyslog_over_tcp(agent: LocalAgent, tmp_path: Path, template: str, framing: str) -> None:
    (port,) = free_ports(1)
    kind = "rfc6587" if framing == "octet-counted" else "delimiter"
    listen(agent, **{"protocol.tcp": {"host": f"127.0.0.1:{port}", "framing": kind}})
    messages = [f"line {number}: Łódź" for number in range(LINES)]
    with rsyslog(tmp_path / "r", f'port="{port}" protocol="tcp" TCP_Framing="{framing}" template="{template}"') as file:
        file.write_text("".join(f"{line}\n" for line in messages))
        expect(agent, messages, **FROM_RSYSLOG)


@with_rsyslog
@pytest.mark.parametrize("template", TEMPLATES)
def test_rsyslog_over_udp(agent: LocalAgent, tmp_path: Path, template: str) -> None:
    (port,) = free_ports(1)
    listen(agent, **{"protocol.udp": {"host": f"127.0.0.1:{port}", "read_buffer": "1MiB"}})
    messages = [f"line {number}" for number in range(LINES)]
    with rsyslog(tmp_path / "r", f'port="{port}" protocol="udp" template="{template}"') as file:
        file.write_text("".join(f"{line}\n" for line in messages))
        expect(agent, messages, **FROM_RSYSLOG)


@with_rsyslog
@with_gnutls
def test_rsyslog_over_tls_with_a_certificate_of_the_client(agent: LocalAgent, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    made = CertificateDirectory(tmp_path)
    authority, (certificate, key), client = made.authorities(), made.issue_for("localhost"), made.issue("client")
    tls = {"enabled": True, "certificate": certificate, "key": key, "certificate_authorities": [authority]}
    ssl = {**tls, "client_authentication": "required"}
    listen(agent, **{"protocol.tcp": {"host": f"127.0.0.1:{port}", "framing": "rfc6587", "ssl": ssl}})
    messages = [f"line {number}" for number in range(LINES)]
    driver = (
        'StreamDriver="gtls" StreamDriverMode="1" StreamDriverAuthMode="x509/name" '
        'StreamDriverPermittedPeers="localhost"'
    )
    files = (
        f'defaultNetstreamDriverCAFile="{authority}" defaultNetstreamDriverCertFile="{client[0]}" '
        f'defaultNetstreamDriverKeyFile="{client[1]}"'
    )
    forwarding = f'port="{port}" protocol="tcp" TCP_Framing="octet-counted" template="{TEMPLATES[0]}" {driver}'
    with rsyslog(tmp_path / "r", forwarding, settings=files) as file:
        file.write_text("".join(f"{line}\n" for line in messages))
        expect(agent, messages, **FROM_RSYSLOG)


@with_rsyslog
def test_rsyslog_keeps_what_it_cannot_send_while_the_agent_is_restarted(agent: LocalAgent, tmp_path: Path) -> None:
    (port,) = free_ports(1)
    listen(agent, **{"protocol.tcp": {"host": f"127.0.0.1:{port}"}})
    with rsyslog(tmp_path / "r", f'port="{port}" protocol="tcp" template="{TEMPLATES[0]}"') as file:
        file.write_text("before\n")
        await_true(lambda: agent.messages == ["before"], "the first message")
        assert agent.stop() == 0
        with file.open("a") as more:
            more.write("lost by TCP\n")  # rsyslog sends it into a connection that nobody reads any more
        agent.start()

        def arrives() -> bool:
            with file.open("a") as more:
                more.write("after\n")
            return "after" in agent.messages

        await_true(arrives, "a message after the restart")
    assert agent.stop() == 0


SENT = [f"it is {number}" for number in range(20)]
LOGGER: list[tuple[str, list[str], dict[str, Any]]] = [
    ("udp", ["--udp", "--rfc3164"], {"hostname": HOST.partition(".")[0]}),
    ("udp", ["--udp", "--rfc5424"], {"hostname": HOST, "msgid": "m1"}),
    ("tcp", ["--tcp", "--rfc3164"], {"hostname": HOST.partition(".")[0]}),
    ("tcp", ["--tcp", "--rfc5424"], {"hostname": HOST, "msgid": "m1"}),
    ("tcp", ["--tcp", "--rfc5424", "--octet-count"], {"hostname": HOST, "msgid": "m1"}),
]


@with_logger
@pytest.mark.parametrize(("protocol", "options", "members"), LOGGER, ids=lambda value: " ".join(value))
def test_logger(agent: LocalAgent, protocol: str, options: list[str], members: dict[str, Any]) -> None:
    (port,) = free_ports(1)
    framing = {"framing": "rfc6587"} if "--octet-count" in options else {}
    listen(agent, **{f"protocol.{protocol}": {"host": f"127.0.0.1:{port}", **framing}})
    named = ["--msgid", "m1"] if "--rfc5424" in options else []
    command = ["logger", "--server", "127.0.0.1", "--port", str(port), *options, *named]
    log(command, pid=True)
    expect(agent, SENT, appname="app", procid="77", priority=19 * 8 + 3, **members)


@with_logger
def test_logger_at_a_unix_socket(agent: LocalAgent, tmp_path: Path) -> None:
    """As a program logs by libc: without the name of a host."""
    path = tmp_path / "log"
    listen(agent, **{"protocol.unix": {"path": str(path), "socket_type": "datagram"}})
    log(["logger", "--socket", str(path), "--socket-errors=on"], pid=True)
    expect(agent, SENT, appname="app", procid="77", hostname=None, priority=19 * 8 + 3)


def log(command: list[str], *, pid: bool) -> None:
    named = ["--tag", "app", "--priority", "local3.err", *(["--id=77"] if pid else [])]
    subprocess.run([*command, *named], input="".join(f"{line}\n" for line in SENT), text=True, check=True)


@pytest.mark.skipif(
    JOURNALD is None or shutil.which("systemd-cat") is None or os.geteuid() != 0, reason="needs systemd, and root"
)
def test_systemd_cat(agent: LocalAgent) -> None:
    journal = RealJournal()
    try:
        section = {"type": "journald", "id": "j", "paths": [str(journal.directory)], "syslog_identifiers": ["app"]}
        agent.settings = {"shipper.inputs": [section]}
        agent.configure()
        agent.start()
        within = ["nsenter", "--mount", "--target", str(journal.pid)]
        script = "for i in 1 2 3; do echo line $i; done; echo '<2>critical' >&2"
        subprocess.run([*within, "systemd-cat", "-t", "app", "-p", "warning", "sh", "-c", script], check=True)
        await_true(lambda: len(agent.messages) == 4, "all entries")
        assert sorted(agent.messages) == ["critical", "line 1", "line 2", "line 3"]
        priorities = {event["message"]: event["log"]["syslog"]["priority"] for event in agent.events}
        assert priorities == {"line 1": 4, "line 2": 4, "line 3": 4, "critical": 2}
        assert all(event["systemd"]["transport"] == "stdout" for event in agent.events)
        assert agent.stop() == 0
    finally:
        journal.close()
