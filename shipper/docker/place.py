"""Where a Docker daemon is, from the options of the configuration."""

import ssl
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path

from log_shipper.config.shipper.docker import DockerTlsConfig, docker_host
from log_shipper.config.text.secrets import without_passwords
from log_shipper.config.yaml.files import read_text
from log_shipper.runtime.monitor.client import Address, Place, UnixSocket
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.tls_texts import client_context, load_pair


def place_of(host: str, tls: DockerTlsConfig | None) -> Place:
    """Return the place. Raises StartError if the files of `tls` cannot be used."""
    where = docker_host(host)
    if where.socket:
        return UnixSocket(Path(where.socket))
    if tls is None:
        return Address(where.host, where.port)
    place = TlsAddress(where.host, where.port, is_secure=True, options=tls)
    try:
        place.context()
    except OSError as error:  # ssl.SSLError is one
        key = tls.key.path if tls.key else None
        names = ", ".join(filter(None, (tls.certificate_authority, tls.certificate, key)))
        shown = without_passwords(host)
        raise StartError(f"the files of ssl for Docker at {shown} cannot be used ({names}): {error.strerror}") from None
    return place


@dataclass(frozen=True, slots=True)
class TlsAddress(Address):
    """An address with the authorities and the certificate of `options`. The files are read for each connection, as they
    may be renewed."""

    options: DockerTlsConfig = field(default_factory=DockerTlsConfig)

    def connection(self, timeout: float) -> HTTPConnection:
        return HTTPSConnection(self.host, self.port, timeout=timeout, context=self.context())

    def context(self) -> ssl.SSLContext:
        """Return what a connection trusts and shows. Raises OSError."""
        tls = self.options
        context = client_context(read_text(tls.certificate_authority) if tls.certificate_authority else "")
        if tls.certificate and tls.key:
            load_pair(context, read_text(tls.certificate), read_text(tls.key.reveal()))
        return context
