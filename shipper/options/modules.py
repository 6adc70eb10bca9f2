"""Filebeat's modules: the files of common ones become inputs, as in Filebeat without Elasticsearch. Lines stay
unparsed, because ingest pipelines parse them, and get the module's constant fields. Any other enabled module is an
error, because its files would not be read.
"""

import socket
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from log_shipper.config.yaml import document
from log_shipper.config.yaml.composing import Budget
from log_shipper.config.yaml.errors import ConfigError, Place, Problem
from log_shipper.config.yaml.load import RawConfig
from log_shipper.config.yaml.scalars import is_false
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section
from log_shipper.shipper.options import included

LISTED = "filebeat.modules"
IN_FILES = "filebeat.config.modules"
_NOT_FILESETS = ("module", "enabled", "path", "input")


@dataclass(frozen=True, slots=True)
class Fileset:
    """The files of a module. `start`: the pattern of a multiline message's first line; `continued`: that of its other
    lines. `wants`: an option and value without which Filebeat reads no files. `by_default`: read if no fileset is
    named.
    """

    paths: tuple[str, ...]
    start: str = ""
    continued: str = ""
    exclude_lines: tuple[str, ...] = ()
    wants: tuple[str, str] = ("", "")
    by_default: bool = True


_SYSLOG = r"^\s"
# Paths and patterns are from the manifests of Filebeat 9.
MODULES: Mapping[str, Mapping[str, Fileset]] = {
    "apache": {
        "access": Fileset(
            ("/var/log/apache2/access.log*", "/var/log/apache2/other_vhosts_access.log*", "/var/log/httpd/access_log*")
        ),
        "error": Fileset(("/var/log/apache2/error.log*", "/var/log/httpd/error_log*")),
    },
    "auditd": {"log": Fileset(("/var/log/audit/audit.log*",))},
    "haproxy": {"log": Fileset(("/var/log/haproxy.log",), wants=("input", "file"))},
    "kafka": {
        "log": Fileset(
            tuple(f"{{kafka_home}}/logs/{name}.log*" for name in ("controller", "server", "state-change", "kafka-*")),
            start=r"^\[",
        )
    },
    "mongodb": {"log": Fileset(("/var/log/mongodb/mongodb.log",))},
    "mysql": {
        "error": Fileset(
            ("/var/log/mysql/error.log*", "/var/log/mysqld.log*"),
            start="^([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{6})",
        ),
        "slowlog": Fileset(
            ("/var/log/mysql/mysql-slow.log*", "/var/lib/mysql/{hostname}-slow.log"),
            start="^# User@Host: ",
            exclude_lines=(r"^[\/\w\.]+, Version: .* started with:.*", "^# Time:.*"),
        ),
    },
    "nats": {"log": Fileset(("/var/log/nats/nats.log*",))},
    "nginx": {
        "access": Fileset(("/var/log/nginx/access.log*",)),
        "error": Fileset(("/var/log/nginx/error.log*",)),
        "ingress_controller": Fileset(("/var/log/nginx/ingress.log*",), by_default=False),
    },
    "postgresql": {
        "log": Fileset(
            ("/var/log/postgresql/postgresql-*-*.log*", "/var/log/postgresql/postgresql-*-*.csv*"),
            start=r"^\d{4}-\d{2}-\d{2} ",
        )
    },
    "redis": {
        "log": Fileset(("/var/log/redis/redis-server.log*",), exclude_lines=(r"^\s+[\-`('.|_]",)),
    },
    "system": {
        "auth": Fileset(("/var/log/auth.log*", "/var/log/secure*"), continued=_SYSLOG),
        "syslog": Fileset(("/var/log/messages*", "/var/log/syslog*"), continued=_SYSLOG),
    },
    "traefik": {"access": Fileset(("/var/log/traefik/access.log*",))},
}


def inputs_of(raw: RawConfig) -> list[Node]:
    """Return the inputs of the enabled modules, including those in `filebeat.config.modules`. Adds a problem for each
    unsupported one.
    """
    inputs: list[Node] = []
    node = included.node_at(raw.root, LISTED)
    if isinstance(node, ListNode):
        inputs += _inputs(node.items, LISTED, raw.problems)
    section = included.node_at(raw.root, IN_FILES)
    rules = None if section is None else raw.part(included.ConfigInputs, section)
    if rules is None or not rules.path:
        return inputs
    budget = Budget()
    for file in included.with_absolute_path(raw.env["path.config"], rules).files():
        try:
            items = document.read_list(file, raw.problems, budget, "modules, each beginning with '- module:'").items
        except ConfigError as error:
            raw.problems.extend(error.problems)
        else:
            inputs += _inputs(items, IN_FILES, raw.problems)
    return inputs


def _inputs(items: Iterable[Node], path: str, problems: list[Problem]) -> Iterator[Node]:
    for index, item in enumerate(items):
        if not isinstance(item, Section):
            continue
        children = item.children(lambda *_: None)
        named = children.get("module")
        if not isinstance(named, Scalar) or _is_off(item):
            continue
        for name, section in _enabled(named, children).items():
            where = f"{path}[{index}].{name}" if name else f"{path}[{index}]"
            fault = _fault(named.text, name, section)
            if fault:
                problems.append(Problem(item.place.file, named.place.line, where, fault))
            else:
                yield replace(_input(named, name, section), name=where)


def _enabled(named: Scalar, children: Mapping[str, Node]) -> dict[str, Section]:
    """Return the enabled filesets by name, or the default ones if none is named. An unknown module without filesets
    gets one without a name.
    """
    filesets = {key: node for key, node in children.items() if key not in _NOT_FILESETS}
    if not filesets:
        known = MODULES.get(named.text, {"": Fileset(())})
        return {name: Section((), named.place) for name, fileset in known.items() if fileset.by_default}
    return {
        name: node if isinstance(node, Section) else Section((), node.place)
        for name, node in filesets.items()
        if not _is_off(node)
    }


def _fault(module: str, name: str, section: Section) -> str:
    """Return why the fileset cannot be read, and what to do; "" if it can."""
    known = MODULES.get(module, {}).get(name)
    variables = _variables(section)
    if isinstance(journald := variables.get("use_journald"), Scalar) and not is_false(journald):
        return "var.use_journald is not supported; write an input of type: journald"
    if known is None:
        fileset = f"the fileset {name} of " if name and module in MODULES else ""
        supported = ", ".join(MODULES.get(module, MODULES))
        return (
            f"{fileset}module {module} is not supported, so its files would not be read (supported: {supported}); "
            "write an input with its paths, or set enabled: false"
        )
    option, value = known.wants
    given = variables.get(option)
    if option and not (isinstance(given, Scalar) and given.text == value):
        return f"receives from the network without var.{option}: {value}; set it, or write an input of type: syslog"
    return ""


def _input(module: Scalar, name: str, section: Section) -> Section:
    fileset, variables, place = MODULES[module.text][name], _variables(section), section.place
    home = variables.get("kafka_home")
    names = {"kafka_home": home.text if isinstance(home, Scalar) else "/opt/kafka*", "hostname": _hostname()}
    constants = {
        "event": {"module": module.text, "dataset": f"{module.text}.{name}"},
        "fileset": {"name": name},
        "service": {"type": module.text},
    }
    options: dict[str, Any] = {
        "type": "log",
        "paths": [path.format_map(names) for path in fileset.paths],
        "exclude_files": [".gz$"],
        "processors": [{"add_fields": {"target": "", "fields": constants}}],
    }
    if fileset.start or fileset.continued:
        pattern = fileset.start or fileset.continued
        options["multiline"] = {"pattern": pattern, "negate": bool(fileset.start), "match": "after"}
    if fileset.exclude_lines:
        options["exclude_lines"] = list(fileset.exclude_lines)
    nodes = {key: _node(value, place) for key, value in options.items()}
    if "paths" in variables:
        nodes["paths"] = variables["paths"]
    own = included.node_at(section, "input")
    for key, node in (own.children(lambda *_: None) if isinstance(own, Section) else {}).items():
        nodes[key] = _behind(nodes[key], node) if key == "processors" else node
    return Section(tuple(Entry(key, node, node.place) for key, node in nodes.items()), place)


def _node(value: Any, place: Place) -> Node:
    match value:
        case dict():
            return Section(tuple(Entry(key, _node(member, place), place) for key, member in value.items()), place)
        case list():
            return ListNode(tuple(_node(item, place) for item in value), place)
        case bool():
            return Scalar(str(value).lower(), "bool", True, place)
    return Scalar(str(value), "str", False, place)


def _behind(first: Node, second: Node) -> Node:
    if not isinstance(first, ListNode) or not isinstance(second, ListNode):
        return second
    return replace(second, items=(*first.items, *second.items))


def _hostname() -> str:
    return socket.gethostname().partition(".")[0]


def _variables(fileset: Section) -> dict[str, Node]:
    var = included.node_at(fileset, "var")
    return var.children(lambda *_: None) if isinstance(var, Section) else {}


def _is_off(node: Node) -> bool:
    enabled = included.node_at(node, "enabled") if isinstance(node, Section) else None
    return isinstance(enabled, Scalar) and is_false(enabled)
