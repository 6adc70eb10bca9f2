import gc
import socket
import ssl
import warnings
from collections.abc import Callable

import pytest

from log_shipper.config.shipper.processors.cloud_metadata import AddCloudMetadataConfig
from log_shipper.shipper.clock import SystemClock
from log_shipper.shipper.cloud.start import services, wanted
from log_shipper.shipper.kubernetes.access import Access
from log_shipper.shipper.kubernetes.tls import tls_context


def of_the_metadata_service() -> ssl.SSLContext:
    tls = services(AddCloudMetadataConfig(), SystemClock())(wanted({"openstack-ssl"})[0], 1.0).tls
    assert tls is not None
    return tls


def of_the_api_server() -> ssl.SSLContext:
    return tls_context(Access("127.0.0.1", 443, "a test"))


@pytest.mark.parametrize("make", [of_the_metadata_service, of_the_api_server])
def test_a_connection_that_is_reset_before_tls_begins_is_closed(make: Callable[[], ssl.SSLContext]) -> None:
    context = make()
    listening = socket.create_server(("127.0.0.1", 0))
    connection = socket.create_connection(listening.getsockname(), timeout=10)
    listening.close()  # resets what it has not accepted
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with pytest.raises(ConnectionResetError):
            context.wrap_socket(connection, server_hostname="127.0.0.1")
        gc.collect()
    # What another test has left is collected here, too.
    assert [str(warning.message) for warning in warned if "SSLSocket" in str(warning.message)] == []
