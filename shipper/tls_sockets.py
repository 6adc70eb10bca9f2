"""Sockets with TLS that are closed when TLS cannot begin."""

import ssl


class TlsSocket(ssl.SSLSocket):
    """For `SSLContext.sslsocket_class`. Of a connection that was reset before TLS began, Python 3.11 raises the error
    from within the constructor and closes nothing: nobody has the socket then, and it is open until it is collected.

    Source: ssl.SSLSocket._create, which reads a byte there without the care that it takes of the handshake.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        try:
            return super().recv(buflen, flags)
        except ConnectionError:
            self.close()
            raise
