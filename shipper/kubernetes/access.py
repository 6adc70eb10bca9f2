"""The address of an API server, and the agent's credentials."""

import ssl
from dataclasses import dataclass, field

from log_shipper.config.yaml.files import read_text
from log_shipper.runtime.http import Address
from log_shipper.shipper.errors import ShipperError
from log_shipper.shipper.tls_texts import client_context


class NoAccess(ShipperError):
    """Raised when no API server is configured; the message is the reason."""


@dataclass(frozen=True, slots=True)
class Pem:
    """A certificate or key: the path of its file, which may be renewed, or its text."""

    file: str = ""
    text: str = field(default="", repr=False)

    def __bool__(self) -> bool:
        return bool(self.file or self.text)

    def read(self) -> str:
        """Return the text, which may be empty. Raises OSError."""
        return self.text or (read_text(self.file) if self.file else "")


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The access. `base` is the path prefix of the server, without a trailing slash. `source` names its origin in
    messages. Without `authorities`, the system's CAs are trusted. `namespace` is the agent's own.
    """

    host: str
    port: int
    source: str
    base: str = ""
    is_secure: bool = True
    authorities: Pem = Pem()
    verifies: bool = True
    server_name: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    certificate: Pem = Pem()
    key: Pem = Pem()
    namespace: str = ""

    def __str__(self) -> str:
        return str(self.address)

    @property
    def address(self) -> Address:
        return Address(self.host, self.port, self.base, self.is_secure, self.tls, self.server_name)

    def tls(self) -> ssl.SSLContext:
        """Return the TLS context with the current files, which may be renewed while the agent runs. Raises OSError,
        including ssl.SSLError.
        """
        pems = (self.authorities, self.certificate, self.key) if self.certificate else (self.authorities,)
        return client_context(*(pem.read() for pem in pems), verifies=self.verifies)

    def bearer(self) -> str:
        """Return the token; the file is read each time, because the kubelet replaces it before it expires. Raises
        OSError.
        """
        return read_text(self.token_file).strip() if self.token_file else self.token
