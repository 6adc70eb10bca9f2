"""Lists the objects of one kind and watches them, to keep a copy of a part of the cluster.

The list returns a version; the watch delivers changes since then, and ends from time to time. It then continues from
the last version, which bookmarks keep recent. Everything is listed again only if the server no longer knows the version
(410), repeatedly cannot watch from it, or was down; objects missing from the list were deleted meanwhile. After an
error, the next attempt waits, with an increasing and random delay, so that the nodes of a cluster do not retry at the
same time.
"""

import logging
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from log_shipper.config.text.units import readable_duration
from log_shipper.runtime.logs.folding import END
from log_shipper.runtime.logs.throttle import Throttle
from log_shipper.shipper.backoff import Backoff
from log_shipper.shipper.clock import Clock
from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.json_documents import object_of, objects_of
from log_shipper.shipper.kubernetes.api_error import ApiError
from log_shipper.shipper.kubernetes.client import Client, refusal_of
from log_shipper.shipper.kubernetes.objects import Named

logger = logging.getLogger(__name__)

PAGE = 250  # objects per page of a list
WATCH_FOR = (240.0, 480.0)  # maximum seconds of a watch, after which the server ends it
SILENCE = 60.0  # seconds beyond that, after which the server counts as down
MIN_WATCH_SECONDS = 1.0  # a server that ends each watch immediately must not be queried without a pause
BACKOFF = Backoff(0.5, 30.0)
# A server that has just started responds before it has loaded its roles, and refuses all requests until then.
REFUSALS_OF_A_START = 5  # in a row; more mean a missing permission
PAUSE_WITHOUT_RIGHT = 60.0  # someone has to grant it
MAX_REQUESTED_PAUSE = 300.0  # of the pauses that a server requests
# A server that responds but fails this often in a row fails because of the version or of what follows it: an event that
# is not JSON, or too large.
MAX_FAILURES = 5
ANSWERED = frozenset({"server", "refused", "malformed", "too_large"})
# A server that fails this way before it accepts a request was down. Its etcd may be a restored backup with older
# versions: a watch from a future version delivers nothing, and no error.
AWAY = frozenset({"connection", "timeout", "server"})


@dataclass(slots=True)
class WatchCounts:
    """Counters since the start, shared by several watches. Each thread writes its own number."""

    lists: int = 0
    events: int = 0
    errors: dict[str, int] = field(default_factory=dict)  # by ApiError.kind

    @classmethod
    def combine(cls, several: "list[WatchCounts]") -> "WatchCounts":
        total = cls()
        for counts in several:
            total.lists += counts.lists
            total.events += counts.events
            for kind, count in counts.errors.copy().items():
                total.errors[kind] = total.errors.get(kind, 0) + count
        return total


@dataclass(frozen=True, slots=True)
class Resource:
    """The watched objects: `plural` of the core group, in `namespace` or everywhere. `use`: their purpose, for
    messages. `are_many`: too many for a single response, which takes several times its size in memory.
    """

    plural: str
    use: str
    namespace: str = ""
    are_many: bool = False

    @property
    def path(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"/api/v1/{self.plural}"

    @property
    def right(self) -> str:
        """Return the required permission as an RBAC rule."""
        where = f"a Role in the namespace {self.namespace}" if self.namespace else "a ClusterRole"
        return f'{where} with apiGroups: [""], resources: [{self.plural}], verbs: [get, list, watch]'


Kept = TypeVar("Kept", bound=Named)


class Keeper(Protocol[Kept]):
    """Stores the objects. Called only by the watch's thread."""

    def store(self, item: Kept) -> None:
        """Store a new or changed object."""

    def delete(self, item: Kept) -> None: ...

    def replace_all(self, items: list[Kept]) -> None:
        """Store these objects, which are all that exist, and delete the others."""


def everything(client: Client) -> str:
    """Select all objects."""
    return ""


@dataclass(frozen=True, slots=True)
class Copying(Generic[Kept]):
    """How objects are stored: `read` parses a document, `select` returns a field selector, such as `spec.nodeName=n1`,
    for which it may query the server (and raises ApiError).
    """

    keeper: Keeper[Kept]
    read: Callable[[Doc], Kept]
    select: Callable[[Client], str] = everything


class ResourceWatch(Generic[Kept]):
    """The watch; `step` blocks while the server has nothing new."""

    def __init__(self, resource: Resource, client: Client, copying: Copying[Kept], clock: Clock) -> None:
        self.counts = WatchCounts()
        self.is_listed = False
        self.is_refused = False  # the permission is missing
        self.problem = ""
        self._resource = resource
        self._client = client
        self._keeper = copying.keeper
        self._read = copying.read
        self._select = copying.select
        self._fields = ""
        self._clock = clock
        self._throttle = Throttle(clock.monotonic)
        self._is_reported = False
        self._failed_at_watch = False
        self._is_answered = False  # the watch
        self._failed_within_watch = False  # by what the server sent
        self._version: str | None = None
        self._from_memory = not resource.are_many  # delivered at once, regardless of the limit
        self._page = PAGE
        self._attempts = 0  # failed or immediately ended, in a row
        self._failures = 0  # with a response, in a row
        self._refusals = 0  # since it was up to date

    def step(self) -> float:
        """List, or watch until the server ends it. Return the seconds to wait before the next step. Never raises
        ApiError.
        """
        began = self._clock.monotonic()
        is_watch = self._version is not None
        self._is_answered = False
        try:
            if self._version is None:
                self._list()
            else:
                self._watch(self._version)
        except ApiError as error:
            self._failed_at_watch = is_watch
            self._failed_within_watch = self._is_answered and error.kind in ANSWERED
            return self._failed(error)
        if is_watch or not self._failed_at_watch:
            self._recovered()
        return 0.0 if not is_watch or self._clock.monotonic() - began >= MIN_WATCH_SECONDS else self._next_pause()

    def _list(self) -> None:
        """List all objects: first from the server's memory, which is cheap, unless there are many; later, when that may
        be too old, from the store.
        """
        items: list[Kept] = []
        self._fields = self._select(self._client)
        parameters = {"limit": str(self._page), **self._selector()}
        if self._from_memory:
            parameters["resourceVersion"] = "0"
        while True:
            page = self._get_page(parameters)
            metadata = object_of(page.get("metadata"))
            items += [self._read(item) for item in objects_of(page.get("items"))]
            if not metadata.get("continue"):
                break
            parameters = {**parameters, "continue": str(metadata["continue"])}
            parameters.pop("resourceVersion", None)  # the token contains it
        self._keeper.replace_all(items)
        self.counts.lists += 1
        self._version = str(metadata.get("resourceVersion") or "")
        self._from_memory, self.is_listed = False, True

    def _get_page(self, parameters: dict[str, str]) -> Doc:
        try:
            return self._client.get(self._resource.path, parameters)
        except ApiError as error:
            if error.kind == "too_large" and self._from_memory:
                self._from_memory = False
            elif error.kind == "too_large":
                self._page = max(self._page // 10, 1)
            raise

    def _watch(self, version: str) -> None:
        seconds = random.uniform(*WATCH_FOR)
        parameters = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(int(seconds)),
            **self._selector(),
        }
        for event in self._client.watch(self._resource.path, parameters, seconds + SILENCE, self._answered):
            kind, document = event.get("type"), event.get("object")
            if not isinstance(document, dict):
                raise ApiError("malformed", f"a watch event of {self._resource.path} has no 'object'")
            if kind == "ERROR":
                raise _error_of(document)
            self._take(kind, document)
            self._recovered()
            self._attempts = 0

    def _answered(self) -> None:
        """Note that the watch works again: the next event may be minutes away."""
        self._is_answered = True
        if not self._failed_within_watch:
            self._recovered()

    def _take(self, kind: Any, document: Doc) -> None:
        item = self._read(document)
        if kind in ("ADDED", "MODIFIED"):
            self._keeper.store(item)
        elif kind == "DELETED":
            self._keeper.delete(item)
        if kind != "BOOKMARK":
            self.counts.events += 1
        self._version = item.version or self._version

    def _selector(self) -> dict[str, str]:
        return {"fieldSelector": self._fields} if self._fields else {}

    def _recovered(self) -> None:
        self.problem, self.is_refused = "", False
        self._failures = self._refusals = 0
        if self._is_reported:
            self._is_reported = False
            self._throttle.reset()
            logger.info("kubernetes: %s are up to date again", self._resource.plural, extra=END)

    def _failed(self, error: ApiError) -> float:
        if self._client.is_closed:
            return 0.0  # that is why
        self.counts.errors[error.kind] = self.counts.errors.get(error.kind, 0) + 1
        if error.kind == "expired":
            self._version = None
            return self._next_pause()
        is_forbidden = error.kind == "forbidden"
        self._refusals += is_forbidden
        self.is_refused = is_forbidden and self._refusals > REFUSALS_OF_A_START
        self._failures = self._failures + 1 if error.kind in ANSWERED else 0
        was_away = not self._is_answered and error.kind in AWAY
        if self.is_refused or self._failures >= MAX_FAILURES or was_away:
            self._version = None
        asked_for = min(error.retry_after, MAX_REQUESTED_PAUSE)
        pause = PAUSE_WITHOUT_RIGHT if self.is_refused else max(self._next_pause(), asked_for)
        # A truncated response comes from a restarting server: the next attempt succeeds.
        if self.is_refused or (not is_forbidden and (self.problem or not self.is_listed)):
            self._warn(error, pause)
        self.problem = str(error)
        return pause

    def _warn(self, error: ApiError, pause: float) -> None:
        self._is_reported = True
        if not self._throttle.is_due():
            return
        resource = self._resource
        if self.is_refused:
            logger.warning(
                "kubernetes: the API server denies listing and watching %s: %s. Events lack %s until the account "
                "has permission: add %s; next attempt in %s",
                resource.plural,
                error,
                resource.use,
                resource.right,
                readable_duration(pause),
            )
        else:
            logger.warning(
                "kubernetes: %s are out of date: %s. Events use the last known state (%s); retrying",
                resource.plural,
                error,
                resource.use,
            )

    def _next_pause(self) -> float:
        self._attempts += 1
        return BACKOFF.jittered(self._attempts)


def _error_of(status: Doc) -> ApiError:
    code = status.get("code")
    return refusal_of(code if isinstance(code, int) else 500, str(status.get("message") or "no reason given"))
