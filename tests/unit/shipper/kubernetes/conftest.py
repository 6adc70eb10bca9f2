from collections.abc import Iterator

import pytest

from tests.kubernetes_api import KubernetesApi


@pytest.fixture
def api() -> Iterator[KubernetesApi]:
    with KubernetesApi() as server:
        yield server
