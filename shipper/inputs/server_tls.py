"""TLS of what listens: from the options `ssl` to the context by which connections are accepted, also after the
certificate was renewed."""

import logging
import socket
import ssl
from typing import Protocol

from log_shipper.runtime.kafka import tls
from log_shipper.runtime.kafka.renewal import CertificateFiles
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.server_ssl import ServerSslConfig
from log_shipper.shipper.tls_texts import load_pair, trust

logger = logging.getLogger(__name__)

CURVES = {"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1", "X25519": "X25519"}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
ASKED = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class Clock(Protocol):
    """Seconds that never go back."""

    def monotonic(self) -> float: ...


class ServerTls:
    """Used by one thread. `section` names the options in messages: "input logs: ssl"."""

    def __init__(self, config: ServerSslConfig, section: str, clock: Clock) -> None:
        """Raises StartError."""
        self._config = config
        self._section = section
        self._context = self._made(tls.read(config.files, tls.now()))
        self._files = None
        interval = config.files.reload_interval
        if interval is not None:
            paths = tls.paths(config.files)
            self._files = CertificateFiles(
                paths, lambda: tls.read(config.files, tls.now()), interval, clock, section=section
            )

    def renew(self) -> None:
        """Use renewed certificates for new connections, if there are any and they can be used. Called often."""
        if self._files is not None and self._files.are_renewed():
            try:
                self._context = self._made(tls.read(self._config.files, tls.now()))
            except StartError as error:
                logger.warning("%s; the certificate before stays in use", error)
            else:
                logger.info("%s: the certificate was renewed; new connections get it", self._section)

    @property
    def context(self) -> ssl.SSLContext:
        """Return what new connections are accepted by."""
        return self._context

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return the connection, whose handshake is still to be made. Raises OSError."""
        return self._context.wrap_socket(
            connection, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
        )

    def _made(self, files: tls.TlsFiles) -> ssl.SSLContext:
        if files.problems:
            option, message = files.problems[0]
            raise StartError(f"{self._section}.{option}: {message}")
        for option, message in files.warnings:
            logger.warning("%s.%s: %s", self._section, option, message)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # A client that only writes, as those of syslog do, never reads the tickets. Closing with something unread, it
        # would reset the connection, and throw away what it had not sent yet.
        context.num_tickets = 0
        try:
            self._choose(context)
            load_pair(context, files.certificate, files.key, files.passphrase)
            self._ask_clients(context, files)
        except (ssl.SSLError, ValueError) as error:
            raise StartError(f"{self._section}: OpenSSL refuses it: {error}") from error
        return context

    def _choose(self, context: ssl.SSLContext) -> None:
        config = self._config
        wanted = [VERSIONS[version] for version in config.supported_protocols if version in VERSIONS]
        context.minimum_version = min(wanted, default=ssl.TLSVersion.TLSv1_2)
        context.maximum_version = max(wanted, default=ssl.TLSVersion.MAXIMUM_SUPPORTED)
        if config.suites:
            context.set_ciphers(":".join(config.suites))
        for curve in config.curve_types:
            context.set_ecdh_curve(CURVES[curve])

    def _ask_clients(self, context: ssl.SSLContext, files: tls.TlsFiles) -> None:
        config = self._config
        if config.verification_mode == "none":
            return
        context.verify_mode = ASKED[config.asks_clients]
        if files.authorities:
            trust(context, files.authorities)
        elif config.asks_clients != "none":
            context.load_default_certs(ssl.Purpose.CLIENT_AUTH)


def reason(error: OSError) -> str:
    """Return why a handshake failed, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is refused: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return KNOWN.get(error.reason, error.reason.lower().replace("_", " "))
    return error.strerror or str(error)


KNOWN = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client shows no certificate, which client_authentication requires",
    "HTTP_REQUEST": "the client speaks plain HTTP",
    "WRONG_VERSION_NUMBER": "the client does not speak TLS",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the authority of this server's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client refuses this server's certificate",
    "NO_SHARED_CIPHER": "the client and this server have no cipher suite in common",
    "UNSUPPORTED_PROTOCOL": "the client asks for a version of TLS that is not accepted",
}
