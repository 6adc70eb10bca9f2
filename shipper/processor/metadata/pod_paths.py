"""What the path of a log file reveals about its pod and container.

    /var/log/containers/<pod>_<namespace>_<container>-<container id>.log
    /var/log/pods/<namespace>_<pod>_<pod uid>/<container>/<restart>.log
    /var/lib/kubelet/pods/<pod uid>/volumes/...
    /var/lib/docker/containers/<container id>/<container id>-json.log

The first is a link to the second, which with Docker is a link to the last, so each may have values that others lack.
"""

import glob
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

_CONTAINERS = re.compile(
    r".*/(?P<pod>[^_/]+)_(?P<namespace>[^_/]+)_(?P<container>[^/]+)-(?P<id>[0-9a-f]{64})\.log[^/]*"
)
_PODS = re.compile(r".*/(?P<namespace>[^_/]+)_(?P<pod>[^_/]+)_(?P<uid>[^_/]+)/(?P<container>[^/]+)/\d+\.log[^/]*")
_KUBELET = re.compile(r".*?/kubelet/pods/(?P<uid>[^/]+)/.+")
_DOCKER = re.compile(r".*/containers/(?P<id>[0-9a-f]{64})/[^/]+")
_ID = re.compile(r"(?P<id>[0-9a-f]{64})(?![0-9a-f]).*", re.DOTALL)
_LINKS = "/var/log/containers"


@dataclass(frozen=True, slots=True)
class PodPlace:
    """A pod's names and ids; an unknown value is empty."""

    pod: str = ""
    uid: str = ""
    namespace: str = ""
    container: str = ""
    id: str = ""

    @property
    def known(self) -> bool:
        return self != PodPlace()

    def with_more(self, other: "PodPlace") -> "PodPlace":
        missing = {name: getattr(other, name) for name in self.__slots__ if not getattr(self, name)}
        return replace(self, **missing)


def pod_of(path: str) -> PodPlace:
    """Return what this path alone reveals. Volumes come first: a container names files there, and must not pass them
    off as those of another pod."""
    for shape in (_KUBELET, _CONTAINERS, _PODS, _DOCKER):
        if match := shape.fullmatch(path):
            return PodPlace(**match.groupdict())
    return PodPlace()


def container_behind(path: str, directories: Iterable[str]) -> PodPlace:
    """Return the container whose id follows one of these directories, as in Filebeat's matcher `logs_path`.
    `directories` end with a slash."""
    for directory in directories:
        if path.startswith(directory) and (match := _ID.fullmatch(path, len(directory))):
            return PodPlace(**match.groupdict())
    return PodPlace()


def pod_on_disk(path: str, links: str = _LINKS) -> PodPlace:
    """Return what this path, its link targets and the link to it reveal."""
    place = pod_of(path)
    if not place.known or _KUBELET.fullmatch(path):  # links in a volume belong to the container, too
        return place
    followed = path
    for _ in range(3):
        try:
            followed = os.path.join(os.path.dirname(followed), os.readlink(followed))
        except OSError:
            break  # not a link
        place = place.with_more(pod_of(os.path.normpath(followed)))
    if place.container and not place.id:
        pattern = f"{glob.escape(links)}/{place.pod}_{place.namespace}_{place.container}-*.log"
        leading = [link for link in glob.glob(pattern) if _leads_to(link, path)]
        place = place.with_more(pod_of(leading[0])) if leading else place
    return place


def _leads_to(link: str, path: str) -> bool:
    try:
        return os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link))) == os.path.normpath(path)
    except OSError:
        return False
