"""Provide TLS for inputs that listen: from the options `ssl` to the context that accepts connections, with certificate
renewal."""

import logging
import socket
import ssl

from log_shipper.runtime.kafka import tls
from log_shipper.runtime.kafka.renewal import CertificateFiles
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.server_ssl import ServerSslConfig
from log_shipper.shipper.tls_texts import load_pair, trust

logger = logging.getLogger(__name__)

CURVES = {"P-256": "prime256v1", "P-384": "secp384r1", "P-521": "secp521r1", "X25519": "X25519"}
VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
ASKED = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class ServerTls:
    """The TLS context of a server. Used by one thread. `section` names the options in messages: "input logs: ssl"."""

    def __init__(self, config: ServerSslConfig, section: str, clock: Clock) -> None:
        """Load the certificates. Raises StartError."""
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
        """Use renewed certificates for new connections, if there are valid ones. Called often."""
        if self._files is not None and self._files.are_renewed():
            try:
                self._context = self._made(tls.read(self._config.files, tls.now()))
            except StartError as error:
                logger.warning("%s; still using the previous certificate", error)
            else:
                logger.info("%s: loaded the renewed certificate for new connections", self._section)

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context that accepts new connections."""
        return self._context

    def wrap(self, connection: socket.socket) -> ssl.SSLSocket:
        """Return the connection before its handshake. Raises OSError."""
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
        # A client that only writes, such as a syslog client, never reads the tickets. Closing with unread data, it
        # would reset the connection, and discard its unsent data.
        context.num_tickets = 0
        try:
            self._choose(context)
            load_pair(context, files.certificate, files.key, files.passphrase)
            self._ask_clients(context, files)
        except (ssl.SSLError, ValueError) as error:
            raise StartError(f"{self._section}: OpenSSL rejects it: {error}") from error
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
    """Return why a handshake failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"client certificate rejected: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return KNOWN.get(error.reason, error.reason.lower().replace("_", " "))
    return error.strerror or str(error)


KNOWN = {
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": "the client sent no certificate, but client_authentication requires one",
    "HTTP_REQUEST": "the client speaks plain HTTP",
    "WRONG_VERSION_NUMBER": "the client does not speak TLS",
    "TLSV1_ALERT_UNKNOWN_CA": "the client does not trust the CA of this server's certificate",
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "the client rejected this server's certificate",
    "NO_SHARED_CIPHER": "the client and this server share no cipher suite",
    "UNSUPPORTED_PROTOCOL": "the client's TLS version is not supported",
}
