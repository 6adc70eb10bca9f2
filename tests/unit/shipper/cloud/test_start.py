"""From the options to the services: where they are, and whom a secure one is trusted by."""

import ssl
from pathlib import Path

import pytest
import trustme

from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.cloud.providers import PROVIDERS, openstack
from log_shipper.shipper.cloud.service import NoMetadata
from log_shipper.shipper.cloud.start import services, wanted
from log_shipper.shipper.options.cloud import CloudTlsConfig
from tests.fakes import ManualClock
from tests.metadata_services import OPENSTACK, MetadataServer


def test_services_are_at_their_own_addresses_unless_another_is_named() -> None:
    clock = ManualClock()
    own, named = services(None, CloudTlsConfig(), clock), services("h:1", CloudTlsConfig(), clock)
    hosts = {provider.name: own(provider, 1.0).host for provider in PROVIDERS}
    assert hosts["aws"] == hosts["openstack-ssl"] == "169.254.169.254"
    assert (hosts["alibaba"], hosts["tencent"]) == ("100.100.100.200", "metadata.tencentyun.com")
    assert {named(provider, 1.0).host for provider in PROVIDERS} == {"h:1"}
    assert [provider.name for provider in PROVIDERS if own(provider, 1.0).tls] == ["openstack-ssl"]


def test_one_wins_over_another_in_a_fixed_order() -> None:
    assert [provider.name for provider in wanted({"openstack", "gcp", "aws"})] == ["aws", "gcp", "openstack"]


@pytest.mark.parametrize("trust", ["authority", "none", "system"])
def test_openstack_may_be_asked_by_tls(tmp_path: Path, trust: str) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    options = {
        "authority": CloudTlsConfig(certificate_authorities=(str(tmp_path / "ca.pem"),)),
        "none": CloudTlsConfig(verification_mode="none"),
        "system": CloudTlsConfig(),
    }
    clock = SystemClock()
    with MetadataServer(OPENSTACK, tls=context) as server:
        service = services(server.address, options[trust], clock)(wanted({"openstack-ssl"})[0], clock.monotonic() + 10)
        if trust == "system":
            with pytest.raises(NoMetadata, match="certificate verify failed"):
                openstack(service)
        else:
            assert openstack(service)["cloud"]["instance"]["id"] == "i-0000ffac"
