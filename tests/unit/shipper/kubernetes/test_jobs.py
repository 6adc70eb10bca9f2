"""The CronJob of a pod, by way of its job."""

from collections.abc import Iterator

import pytest

from log_shipper.shipper.kubernetes.client import Client
from log_shipper.shipper.kubernetes.jobs import PAUSE, CronJobs
from tests.fakes import ManualClock
from tests.kubernetes_api import KubernetesApi, job, pod

OF_JOB = pod("daily-1-x", owner=("Job", "daily-1"))
PATH = "/apis/batch/v1/namespaces/shop/jobs/daily-1"


class CronJobsLab:
    def __init__(self, api: KubernetesApi) -> None:
        self.api = api
        self.clock = ManualClock()
        self.client = Client(api.access(), self.clock)
        self.jobs = CronJobs(self.client, self.clock)

    def cron_job_of(self, document: dict[str, object] = OF_JOB) -> str:
        return self.jobs.read(document).cron_job


@pytest.fixture
def lab(api: KubernetesApi) -> Iterator[CronJobsLab]:
    made = CronJobsLab(api)
    yield made
    made.client.close()


def test_a_job_is_asked_for_once_and_by_its_metadata_alone(api: KubernetesApi, lab: CronJobsLab) -> None:
    api.put("jobs", job("daily-1", "daily"))
    assert [lab.cron_job_of(), lab.cron_job_of(), lab.cron_job_of(pod("web"))] == ["daily", "daily", ""]
    assert [(request.path, "PartialObjectMetadata" in request.accept) for request in api.requests] == [(PATH, True)]


def test_a_job_of_its_own_has_no_cron_job(api: KubernetesApi, lab: CronJobsLab) -> None:
    api.put("jobs", job("daily-1"))
    assert [lab.cron_job_of(), lab.cron_job_of(), len(api.requests)] == ["", "", 1]


def test_a_job_that_was_deleted_is_not_reported(lab: CronJobsLab, caplog: pytest.LogCaptureFixture) -> None:
    assert lab.cron_job_of() == ""
    assert caplog.messages == []


def test_a_missing_right_is_reported_and_holds_up_no_other_pod(
    api: KubernetesApi, lab: CronJobsLab, caplog: pytest.LogCaptureFixture
) -> None:
    api.refuse(PATH, "get")
    assert [lab.cron_job_of(), lab.cron_job_of(pod("b", owner=("Job", "b")))] == ["", ""]
    assert len(api.requests) == 1
    [message] = caplog.messages
    assert "add a ClusterRole with apiGroups: [batch], resources: [jobs], verbs: [get]" in message
    api.answers.clear()
    api.put("jobs", job("daily-1", "daily"))
    lab.clock.advance(PAUSE)
    assert lab.cron_job_of() == "daily"
