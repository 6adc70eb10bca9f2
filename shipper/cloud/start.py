"""Creates metadata services from the options."""

import ssl
from collections.abc import Collection

from log_shipper.config.yaml.files import read_text
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.cloud.providers import PROVIDERS, Provider
from log_shipper.shipper.cloud.search import MakeService
from log_shipper.shipper.cloud.service import NoMetadata, Service
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.options.cloud import CloudTlsConfig
from log_shipper.shipper.tls_texts import trust


def wanted(names: Collection[str]) -> list[Provider]:
    """Return the providers with these names, in order of precedence."""
    return [provider for provider in PROVIDERS if provider.name in names]


def services(host: str | None, tls: CloudTlsConfig, clock: Clock) -> MakeService:
    """Return a factory for the service of a provider, at `host` instead of its own address. Raises StartError if the
    CAs are unreadable.
    """
    if tls.certificate_authorities:
        try:
            _context(tls)
        except OSError as error:  # includes ssl.SSLError
            names = ", ".join(tls.certificate_authorities)
            raise StartError(f"add_cloud_metadata: ssl.certificate_authorities ({names}): {error}") from error

    def service(provider: Provider, deadline: float) -> Service:
        try:
            # Loading the system's CAs takes 20 ms, on the provider's thread.
            context = _context(tls) if provider.is_secure else None
        except OSError as error:
            raise NoMetadata(f"ssl: {error}") from error
        return Service(host or provider.host, deadline, clock, context)

    return service


def _context(tls: CloudTlsConfig) -> ssl.SSLContext:
    if tls.verification_mode == "none" or tls.certificate_authorities:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    else:
        context = ssl.create_default_context()
    if tls.verification_mode == "none":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    for file in tls.certificate_authorities:
        trust(context, read_text(file))
    return context
