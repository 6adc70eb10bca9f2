"""What a hint may set: only how a container's lines become events.

Files, addresses, credentials, TLS, metadata of others, state that containers share (caches), memory limits and file
discovery belong to the configuration. The lists name what is allowed: any other option is refused. An entry allows the
option of that name and all options below it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from log_shipper.config.yaml.schema import NamedItems, leaves
from log_shipper.config.yaml.tree import Entry, ListNode, Node, Scalar, Section, as_list
from log_shipper.shipper.options.model import INPUT_KINDS
from log_shipper.shipper.options.parsers import PARSERS
from log_shipper.shipper.options.processors import PROCESSORS

_CHECKS = ("ignore_missing", "fail_on_error")
_FAILURES = ("ignore_missing", "ignore_failure")

ALLOWED_PROCESSORS: dict[str, tuple[str, ...]] = {
    "add_fields": ("fields", "target"),
    "add_id": ("target_field", "type"),
    "add_labels": ("labels",),
    "add_locale": ("format",),
    "add_network_direction": ("source", "destination", "target", "internal_networks"),
    "add_tags": ("tags", "target"),
    "append": ("target_field", "fields", "values", "ignore_empty_values", "allow_duplicate", *_CHECKS),
    "community_id": ("fields", "target", "seed"),
    "convert": ("fields", "tag", "mode", *_CHECKS),
    "copy_fields": ("fields", *_CHECKS),
    "decode_base64_field": ("field", *_CHECKS),
    "decode_cef": ("field", "target_field", "ecs", "timezone", "ignore_empty_values", "id", *_FAILURES),
    "decode_csv_fields": ("fields", "separator", "overwrite_keys", "trim_leading_space", *_CHECKS),
    "decode_duration": ("field", "format"),
    "decode_json_fields": (
        *("fields", "process_array", "max_depth", "target", "overwrite_keys", "expand_keys", "add_error_key"),
        *("document_id",),
    ),
    "decode_xml": ("field", "target_field", "overwrite_keys", "to_lower", "document_id", *_FAILURES),
    "decompress_gzip_field": ("field", *_CHECKS),
    "detect_mime_type": ("field", "target"),
    "dissect": (
        *("tokenizer", "field", "target_prefix", "ignore_failure", "overwrite_keys", "trim_values", "trim_chars"),
    ),
    "drop_event": (),
    "drop_fields": ("fields", "ignore_missing"),
    "extract_array": ("field", "mappings", "overwrite_keys", "omit_empty", *_CHECKS),
    "fingerprint": ("fields", "target_field", "method", "encoding", "ignore_missing"),
    "grok": (
        *("field", "patterns", "pattern_definitions", "target_prefix", "named_captures_only", "overwrite_keys"),
        *("tag_on_failure", *_FAILURES),
    ),
    "include_fields": ("fields",),
    "lowercase": ("fields", "values", "alter_full_field", *_CHECKS),
    "move_fields": ("from", "fields", "exclude", "to", "ignore_missing"),
    "now": ("field",),
    "rate_limit": ("limit", "fields", "algorithm.token_bucket.burst_multiplier"),
    "redact": ("fields", "patterns", "custom", "replacement", "mask", "keep_last", "ignore_missing"),
    "registered_domain": (
        *("field", "target_field", "target_etld_field", "target_subdomain_field", "id"),
        *_FAILURES,
    ),
    "rename": ("fields", *_CHECKS),
    "replace": ("fields", *_CHECKS),
    "syslog": ("field", "format", "timezone", "overwrite_keys", "tag", *_FAILURES),
    "timestamp": ("field", "target_field", "layouts", "timezone", "test", "id", *_FAILURES),
    "truncate_fields": ("fields", "max_bytes", "max_characters", *_CHECKS),
    "uppercase": ("fields", "values", "alter_full_field", *_CHECKS),
    "urldecode": ("fields", *_CHECKS),
}
ALLOWED_PARSERS: dict[str, tuple[str, ...]] = {
    "container": ("format", "stream"),
    "include_message": ("patterns",),
    "multiline": (
        *("type", "pattern", "negate", "match", "flush_pattern", "count_lines", "max_lines", "timeout"),
        *("skip_newline",),
    ),
    "ndjson": (
        *("target", "overwrite_keys", "expand_keys", "add_error_key", "message_key", "document_id"),
        *("ignore_decoding_error",),
    ),
    "syslog": ("format", "timezone", "log_errors", "add_error_key"),
}
# For `raw`. Its paths are checked when they are read, and its files when they are open.
ALLOWED_INPUTS = ("filestream", "log", "container")
ALLOWED_OF_INPUT = (
    *("type", "id", "enabled", "paths", "symlinks", "exclude_files"),
    *("prospector.scanner.symlinks", "prospector.scanner.exclude_files", "prospector.scanner.include_files"),
    *("encoding", "line_terminator", "stream", "format", "json", "multiline", "parsers", "include_lines"),
    *("exclude_lines", "processors", "tags", "fields", "fields_under_root", "keep_null"),
    *("publisher_pipeline.disable_host",),
)
_ITEMS = {"processors": PROCESSORS, "parsers": PARSERS}
_ALLOWED_ITEMS = {PROCESSORS.what: ALLOWED_PROCESSORS, PARSERS.what: ALLOWED_PARSERS}


def refusal_of(node: Node, named: NamedItems) -> str:
    """Return why a hint may not have this processor or parser, or "". It is allowed completely or not at all: without
    its condition, `drop_event` would drop every event. An invalid item is reported when it is read.
    """
    if not isinstance(node, Section):
        return ""
    items = _children(node)
    if named.whole.keys() & items.keys():
        below = [item for key in ("then", "else") if key in items for item in _listed(items[key])]
        return next(filter(None, (refusal_of(item, named) for item in below)), "")
    allowed = _ALLOWED_ITEMS[named.what]
    for name, options in items.items():
        if name not in allowed:
            return f"a hint must not use the {named.what} {name}; allowed: {', '.join(allowed)}"
        permitted = (*allowed[name], "when")
        for option, _ in _ends(options, ""):
            if option and _is_refused(option, permitted, named.models[name]):
                return f"a hint must not set {name}.{option}; allowed: {', '.join(permitted)}"
    return ""


def allowed_input(section: Section, refusals: list[str]) -> Section | None:
    """Return the allowed options of a hint's own input; None if the input is not allowed. Adds messages about the
    others to the refusals.
    """
    children = _children(section)
    kind = children.get("type")
    name = kind.text if isinstance(kind, Scalar) else INPUT_KINDS.default
    if name not in ALLOWED_INPUTS:
        refusals.append(f"a hint must not create an input of type {name}; allowed: {', '.join(ALLOWED_INPUTS)}")
        return None
    entries = [
        Entry(key, _allowed_items(node, _ITEMS[key], refusals), node.place)
        for key, node in children.items()
        if key in _ITEMS
    ]
    ends = [end for key, node in children.items() if key not in _ITEMS for end in _ends(node, key)]
    for option, node in ends:
        if _is_refused(option, ALLOWED_OF_INPUT, INPUT_KINDS.models[name]):
            refusals.append(f"a hint must not set {option}; allowed: {', '.join(ALLOWED_OF_INPUT)}")
        else:
            entries.append(Entry(option, node, node.place))
    return Section(tuple(entries), section.place)


def _allowed_items(node: Node, named: NamedItems, refusals: list[str]) -> ListNode:
    items = [(item, refusal_of(item, named)) for item in _listed(node)]
    refusals += [words for _, words in items if words]
    return ListNode(tuple(item for item, words in items if not words), node.place)


def _is_refused(option: str, allowed: Sequence[str], model: Any) -> bool:
    """Return True for an existing option that is not allowed. An unknown name is reported when the options are read."""
    is_known = any(_covers(option, leaf) or _covers(leaf, option) for leaf in leaves(model))
    return is_known and not any(_covers(name, option) for name in allowed)


def _ends(node: Node, name: str) -> Iterator[tuple[str, Node]]:
    """Yield the leaves by dotted name, including those that another entry of the same name replaces."""
    if isinstance(node, Section) and node.entries:
        for entry in node.entries:
            yield from _ends(entry.node, f"{name}.{entry.key}" if name else entry.key)
    else:
        yield name, node


def _covers(option: str, name: str) -> bool:
    return name == option or name.startswith(f"{option}.")


def _listed(node: Node) -> Sequence[Node]:
    """Return the items of a list; a single item is a list of one."""
    listed = as_list(node)
    return (node,) if listed is None else listed.items


def _children(section: Section) -> Mapping[str, Node]:
    return section.children(lambda *_: None)
