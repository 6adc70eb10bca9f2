"""The place of a Docker daemon, from the options."""

import ssl
from pathlib import Path

from log_shipper.config.text.secrets import without_passwords
from log_shipper.config.yaml.files import read_text
from log_shipper.runtime.http import Address, Place, UnixSocket
from log_shipper.shipper.docker.client import DockerError
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.docker import DockerTlsConfig, docker_host
from log_shipper.shipper.tls_texts import client_context


def place_of(host: str, tls: DockerTlsConfig | None) -> Place:
    """Return the place. Raises StartError if the files of `tls` cannot be used."""
    where = docker_host(host)
    if where.socket:
        return UnixSocket(Path(where.socket))
    if tls is None:
        return Address(where.host, where.port)
    try:
        _context(tls)
    except OSError as error:  # includes ssl.SSLError
        key = tls.key.path if tls.key else None
        names = ", ".join(filter(None, (tls.certificate_authority, tls.certificate, key)))
        shown = without_passwords(host)
        raise StartError(f"cannot use the ssl files for Docker at {shown} ({names}): {error.strerror}") from None

    def renewed() -> ssl.SSLContext:
        try:
            return _context(tls)
        except OSError as error:
            raise DockerError(f"cannot read the ssl files for Docker at {place}: {error}") from error

    place = Address(where.host, where.port, is_secure=True, tls=renewed)
    return place


def _context(tls: DockerTlsConfig) -> ssl.SSLContext:
    """Return the TLS context with CAs and client certificate. Raises OSError."""
    authorities = read_text(tls.certificate_authority) if tls.certificate_authority else ""
    pair = (tls.certificate, tls.key.reveal()) if tls.certificate and tls.key else ()
    return client_context(authorities, *map(read_text, pair))
