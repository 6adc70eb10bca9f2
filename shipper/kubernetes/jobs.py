"""Finds the CronJob behind the job of a pod: the pod does not name it, and a job may have any name."""

import logging
from dataclasses import replace
from urllib.parse import quote

from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.client import METADATA_ONLY, Client
from log_shipper.shipper.kubernetes.objects import Pod, owner_of, pod_of

logger = logging.getLogger(__name__)

MAX_KNOWN = 10_000
PAUSE = 30.0  # seconds


class CronJobs:
    """Requests each job once; jobs do not change their owner."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._not_before = 0.0
        self._throttle = Throttle(clock.monotonic)
        self._known: dict[str, str] = {}  # the name by the job's path

    def read(self, document: Doc) -> Pod:
        """Return the pod with its CronJob. Blocks while a job is requested."""
        pod = pod_of(document)
        if pod.owner is None or pod.owner.kind != "Job":
            return pod
        job = f"{quote(pod.namespace)}/jobs/{quote(pod.owner.name)}"
        return replace(pod, cron_job=self._of(f"/apis/batch/v1/namespaces/{job}"))

    def _of(self, path: str) -> str:
        name = self._known.get(path)
        if name is not None or self._clock.monotonic() < self._not_before:
            return name or ""
        try:
            owner = owner_of(self._client.get(path, accept=METADATA_ONLY))
        except ApiError as error:
            if error.kind != "refused":  # otherwise (404) it was deleted, and its pods soon will be
                self._fail(error)
            return ""
        name = owner.name if owner is not None and owner.kind == "CronJob" else ""
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[path] = name
        return name

    def _fail(self, error: ApiError) -> None:
        """Request no other job for a while: all pods wait for the responses."""
        self._not_before = self._clock.monotonic() + PAUSE
        if self._throttle.is_due():
            right = "a ClusterRole with apiGroups: [batch], resources: [jobs], verbs: [get]"
            logger.warning(
                "kubernetes: cannot look up the CronJob of a pod: %s. Its events have no kubernetes.cronjob.name%s",
                error,
                f"; add {right}" if error.kind == "forbidden" else "",
            )
