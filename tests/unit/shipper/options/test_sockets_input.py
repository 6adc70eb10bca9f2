"""The options of inputs that listen."""

import pytest

from log_shipper.shipper.inputs.sockets.options import SocketConfig, SyslogInput, TcpInput, UdpInput, UnixInput
from log_shipper.shipper.parsers.syslog import SyslogParserConfig
from tests.config_lab import ConfigLab, narrowed

OUTPUT = "output.console.pretty: false\n"


def one(lab: ConfigLab, options: str) -> SocketConfig:
    loaded = lab.load(f"shipper.inputs: [{{{options}}}]\n{OUTPUT}").inputs[0]
    assert isinstance(loaded, SocketConfig)
    return loaded


def problems(lab: ConfigLab, options: str) -> list[str]:
    return lab.problems(f"shipper.inputs: [{{{options}}}]\n{OUTPUT}")


def test_the_defaults_are_those_of_filebeat(lab: ConfigLab) -> None:
    udp = narrowed(UdpInput, one(lab, "type: udp"))
    assert (udp.host, udp.max_message_size, udp.read_buffer, udp.timeout) == (("localhost:8080",), 10240, None, 300)
    tcp = narrowed(TcpInput, one(lab, "type: tcp, host: 'localhost:9000'"))
    assert (tcp.max_message_size, tcp.max_connections, tcp.timeout) == (20 * 1024**2, 0, 300)
    assert (tcp.framing, tcp.line_delimiter, tcp.network, tcp.ssl.is_on) == ("delimiter", "\n", "tcp", False)
    unix = narrowed(UnixInput, one(lab, "type: unix, path: /run/log.sock"))
    assert (unix.socket_type, unix.group, unix.mode, unix.max_message_size) == ("stream", None, None, 20 * 1024**2)
    syslog = narrowed(SyslogInput, one(lab, "type: syslog, protocol.udp.host: 'localhost:514'"))
    assert (syslog.parsers, syslog.message_max_bytes) == ((SyslogParserConfig(format="rfc3164"),), 10240)


def test_the_longest_message_is_that_of_max_message_size(lab: ConfigLab) -> None:
    assert one(lab, "type: udp, max_message_size: 1KiB").message_max_bytes == 1024
    assert one(lab, "type: syslog, protocol.tcp: {host: ':601', max_message_size: 1KiB}").message_max_bytes == 1024


def test_an_id_is_derived_from_where_it_listens(lab: ConfigLab) -> None:
    first, second = (one(lab, f"type: udp, host: ':{port}'") for port in (514, 515))
    assert first.id.startswith("udp-")
    assert first.id != second.id
    assert first.reads == ("udp :514",)


@pytest.mark.parametrize("written", ["'0.0.0.0:514, [::]:514'", "['0.0.0.0:514', '[::]:514']"])
def test_several_hosts_may_be_written(lab: ConfigLab, written: str) -> None:
    assert one(lab, f"type: tcp, host: {written}").reads == ("tcp 0.0.0.0:514", "tcp [::]:514")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("type: tcp", "host: missing"),
        ("type: tcp, host: localhost", "'localhost' must be host:port, such as 0.0.0.0:514"),
        ("type: tcp, host: 'localhost:65536'", "must be host:port"),
        ("type: tcp, host: '::1:514'", "must be host:port, such as 0.0.0.0:514, :514 or [::1]:514"),
        ("type: tcp, host: ':1', line_delimiter: ''", "line_delimiter: is empty"),
        (r"type: tcp, host: ':1', line_delimiter: '\n'", "write escapes in double quotes"),
        ("type: udp, host: ':1', max_message_size: 1MiB", "max_message_size: must be at most 65535"),
        ("type: udp, host: ':1', read_buffer: 1GiB", "read_buffer: must be at most 1072693248"),
        ("type: unix", "path: missing"),
        ("type: unix, path: /a, mode: '9'", "mode: '9' must be an octal mode"),
        ("type: syslog", "protocol: must have one of udp, tcp and unix"),
        ("type: syslog, protocol: {udp: {host: ':1'}, tcp: {host: ':1'}}", "protocol: must have one of udp, tcp"),
        ("type: tcp, host: ':1', ssl: {certificate: a.pem}", "ssl.key: missing"),
        ("type: tcp, host: ':1', ssl: {enabled: true}", "ssl.certificate: missing; a server needs a certificate"),
        ("type: tcp, host: ':1', parsers: []", "parsers: not supported; Filebeat has no parsers for this type either"),
    ],
)
def test_mistakes_are_named(lab: ConfigLab, options: str, message: str) -> None:
    found = problems(lab, options)
    assert any(message in problem for problem in found), found


def test_clients_are_asked_where_authorities_are_given(lab: ConfigLab) -> None:
    pair = "certificate: a.pem, key: a.key"
    tcp = narrowed(TcpInput, one(lab, f"type: tcp, host: ':1', ssl: {{{pair}}}"))
    assert tcp.ssl.asks_clients == "none"
    tcp = narrowed(TcpInput, one(lab, f"type: tcp, host: ':1', ssl: {{{pair}, certificate_authorities: [b.pem]}}"))
    assert tcp.ssl.asks_clients == "required"
    tcp = narrowed(TcpInput, one(lab, f"type: tcp, host: ':1', ssl: {{{pair}, enabled: false}}"))
    assert not tcp.ssl.is_on
