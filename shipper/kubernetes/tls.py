"""TLS to an API server, by the files of the moment: they are renewed while the agent runs."""

import ssl

from log_shipper.shipper.kubernetes.access import Access
from log_shipper.shipper.tls_sockets import TlsSocket
from log_shipper.shipper.tls_texts import client_context, load_pair


def tls_context(access: Access) -> ssl.SSLContext:
    """Raises OSError, of which ssl.SSLError is one."""
    context = client_context(access.authorities.read() if access.authorities else "")
    context.sslsocket_class = TlsSocket
    if not access.verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if access.certificate:
        load_pair(context, access.certificate.read(), access.key.read())
    return context
