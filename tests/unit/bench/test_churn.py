from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.churn import differences
from bench.data import line
from bench.pods import DELETED_AFTER, FIRST_LINES, BusyNode
from tests.kubernetes_api import KubernetesApi


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[BusyNode]:
    with KubernetesApi() as api:
        yield BusyNode(tmp_path, api)


def written(busy: BusyNode) -> list[str]:
    """Return the lines of all logs, by their links."""
    logs = sorted((busy.directory / "containers").iterdir())
    return [line.partition(" F ")[2] for log in logs for line in log.read_text().splitlines()]


def test_missing_and_repeated_lines_are_counted() -> None:
    assert differences([line(0), line(2), line(2), line(3)], 5) == (2, 1)
    assert differences([line(number) for number in range(5)], 5) == (0, 0)


def test_a_pod_has_lines_of_its_own_until_its_log_is_deleted(busy: BusyNode) -> None:
    (busy.directory / "containers").mkdir()
    busy.begin()
    busy.begin()
    busy.end(now=0.0)
    assert differences(written(busy), busy.written.lines) == (0, 0)
    assert busy.written.lines == 2 * FIRST_LINES + 1
    busy.delete_logs(DELETED_AFTER - 1)
    assert len(written(busy)) == busy.written.lines
    busy.delete_logs(DELETED_AFTER)
    assert len(written(busy)) == FIRST_LINES
    assert [path.name for path in (busy.directory / "pods").iterdir()] == ["shop_web-000001_uid-web-000001"]
