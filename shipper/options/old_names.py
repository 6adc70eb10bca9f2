"""Option names of Filebeat 5 to 7 that are still in use, with their current equivalents.

They are replaced in the tree before it is read as a model. Each is a lapse: a warning in a Filebeat configuration, an
error in one with `shipper.*` names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from log_shipper.config.yaml.errors import Problem
from log_shipper.config.yaml.report import dotted
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section, as_list, is_null

RENAMED = {
    "filebeat.prospectors": "filebeat.inputs",
    "filebeat.config.prospectors": "filebeat.config.inputs",
    "filebeat.registry_file": "filebeat.registry.path",
    "filebeat.registry_flush": "filebeat.registry.flush",
    "filebeat.registry_file_permissions": "filebeat.registry.file_permissions",
}
_MORE = {"filebeat.registry_file": ", which names a directory"}
# For inputs: one name may have become two options.
RENAMED_OF_INPUT = {
    "input_type": ("type",),
    "close_older": ("close_inactive",),
    "force_close_files": ("close_renamed", "close_removed"),
}
_OLD = {*RENAMED_OF_INPUT, "document_type", "containers", "combine_partials"}
DOCKER_FILES = "/var/lib/docker/containers"


def with_renamed_options(root: Section, problems: list[Problem]) -> Section:
    """Return the tree with current names outside the inputs."""
    return _renamed(root, "", problems)


def _renamed(section: Section, prefix: str, problems: list[Problem]) -> Section:
    entries = []
    for entry in section.entries:
        name = prefix + entry.key
        old = next((old for old in RENAMED if name == old or name.startswith(f"{old}.")), None)
        if old is not None:
            words = f"an old name, now {RENAMED[old]}{_MORE.get(old, '')}"
            problems.append(Problem(entry.place.file, entry.place.line, old, words, lapse=True))
            entry = replace(entry, key=(RENAMED[old] + name.removeprefix(old)).removeprefix(prefix))
        elif isinstance(entry.node, Section) and any(old.startswith(f"{name}.") for old in RENAMED):
            entry = replace(entry, node=_renamed(entry.node, f"{name}.", problems))
        entries.append(entry)
    return replace(section, entries=tuple(entries))


def with_todays_options(
    items: Iterable[Node], path: str, problems: list[Problem], *, default_type: str | None
) -> list[Node]:
    """Return the inputs with current names. `default_type` is the type of inputs without one, if it differs from the
    model's.
    """
    return [
        _input(item, item.name or f"{path}[{index}]", problems, default_type) if isinstance(item, Section) else item
        for index, item in enumerate(items)
    ]


def _input(item: Section, path: str, problems: list[Problem], default_type: str | None) -> Section:
    written = item.children(lambda *_: None)
    is_old = _is_docker(written) or _OLD & written.keys() or isinstance(written.get("take_over"), Scalar)
    is_old = is_old or isinstance(written.get("include_matches"), ListNode)
    entries = list(_todays(item, path, written, problems)) if is_old else list(item.entries)
    if default_type is not None and not any(entry.key == "type" and not is_null(entry.node) for entry in entries):
        entries.append(Entry("type", Scalar(default_type, "str", True, item.place), item.place))
    return replace(item, entries=tuple(entries))


def _todays(item: Section, path: str, written: Mapping[str, Node], problems: list[Problem]) -> Iterator[Entry]:
    """Yield the entries of an input with current names."""

    def lapse(entry: Entry, words: str) -> None:
        problems.append(Problem(entry.place.file, entry.place.line, dotted(path, entry.key), words, lapse=True))

    for entry in item.entries:
        match entry.key.partition(".")[0]:
            case "type" | "input_type" if _is_docker(written):
                paths = _paths_of_containers(written.get("containers"), entry)
                listed = ", ".join(item.text for item in paths.items if isinstance(item, Scalar))
                lapse(entry, f"an old type, now type: container with paths: [{listed}]")
                yield Entry("type", Scalar("container", "str", True, entry.place), entry.place, entry.rank)
                if "paths" not in written:
                    yield Entry("paths", paths, entry.place, entry.rank)
            case "containers" if _is_docker(written):
                yield from _stream(entry)
            case "combine_partials":
                lapse(entry, "an old option; partial lines are always joined")
            case "document_type" if _has_document_type(written):
                lapse(entry, "an old option, now the processor add_fields with target: '' and fields.type")
                yield _document_type(entry, written.get("processors"))
            case "processors" if _has_document_type(written):
                pass  # they come after the one that sets the type
            case "take_over" if isinstance(entry.node, Scalar) and not is_null(entry.node):
                lapse(entry, "an old form, now take_over.enabled")
                yield replace(entry, key="take_over.enabled")
            case "include_matches" if isinstance(entry.node, ListNode):
                lapse(entry, "an old form, now include_matches.match")
                yield replace(entry, key="include_matches.match")
            case name if name in RENAMED_OF_INPUT:
                today = RENAMED_OF_INPUT[name]
                lapse(entry, f"an old name, now {' and '.join(today)}")
                yield from (replace(entry, key=key) for key in today if key not in written)
            case _:
                yield entry


def _is_docker(written: Mapping[str, Node]) -> bool:
    kinds = (written.get("type"), written.get("input_type"))
    return any(isinstance(kind, Scalar) and kind.text == "docker" for kind in kinds)


def _has_document_type(written: Mapping[str, Node]) -> bool:
    return "document_type" in written and not is_null(written["document_type"])


def _paths_of_containers(containers: Node | None, entry: Entry) -> ListNode:
    """Return the paths of the log files of `containers.ids`, below `containers.path`."""
    below = containers.children(lambda *_: None) if isinstance(containers, Section) else {}
    directory, ids = below.get("path"), below.get("ids")
    root = directory.text.rstrip("/") if isinstance(directory, Scalar) else DOCKER_FILES
    listed = as_list(ids) if ids is not None else None
    names = [item.text for item in listed.items if isinstance(item, Scalar)] if listed else []
    paths = tuple(Scalar(f"{root}/{name}/*.log", "str", False, entry.place) for name in names or ["*"])
    return ListNode(paths, entry.place)


def _stream(entry: Entry) -> Iterator[Entry]:
    """Yield `stream` for `containers.stream`."""
    section = Section((entry,), entry.place).children(lambda *_: None)["containers"]
    stream = section.children(lambda *_: None).get("stream") if isinstance(section, Section) else None
    if stream is not None:
        yield Entry("stream", stream, entry.place, entry.rank)


def _document_type(entry: Entry, processors: Node | None) -> Entry:
    """Return processors of which the first sets the field `type`."""
    place = entry.place
    options = (Entry("target", Scalar("", "str", False, place), place), Entry("fields.type", entry.node, place))
    first = Section((Entry("add_fields", Section(options, place), place),), place)
    rest: tuple[Node, ...] = ()
    if processors is not None and not is_null(processors):
        listed = as_list(processors)
        rest = (processors,) if listed is None else listed.items
    return Entry("processors", ListNode((first, *rest), place), place, entry.rank)
