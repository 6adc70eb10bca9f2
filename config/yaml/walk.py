"""Reads a tree as a model, section by section, without knowing any option by name.

A problem does not stop the walk, so that all are reported at once. A value with a problem is FAILED, and so is
everything that contains it; checks run only on complete values, to avoid false problems.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args, get_origin

from log_shipper.config.yaml import scalars
from log_shipper.config.yaml.errors import Place
from log_shipper.config.yaml.maps import RawMaps, TopicMaps, is_by_topic
from log_shipper.config.yaml.names import Names
from log_shipper.config.yaml.report import FAILED, LEFT_OUT, LoadReport, Spot, dotted
from log_shipper.config.yaml.schema import Kinds, NamedItems, Option, beginning, options
from log_shipper.config.yaml.templates import Template, placeholders, undecided
from log_shipper.config.yaml.tree import ListNode, Node, Scalar, Section, as_list, is_null
from log_shipper.config.yaml.variables import is_variable

Read = Callable[[Any, Spot, LoadReport], Any]  # model, spot, report -> the value of an empty section


class BlankSections:
    """Values of empty sections.

    Most sections of an input are empty, and thousands of inputs have them: each model is read once, and its value
    is shared. A model with findings is read every time, because each report needs the place of its own section.
    """

    def __init__(self, read: Read) -> None:
        self._read = read
        # By model: the value, and (attribute, name) of all sections in it; None if there is something to report.
        self._known: dict[Any, tuple[Any, list[tuple[str, str]]] | None] = {}

    def section(self, model: Any, spot: Spot, report: LoadReport) -> Any:
        """Return the value of an empty section at a spot."""
        if model not in self._known:
            self._known[model] = self._learn(model)
        known = self._known[model]
        if known is None:
            return self._read(model, spot, report)
        value, names = known
        for attribute, name in names:
            below = spot.option(attribute, name)
            report.spots[below.attribute] = below
        return value

    def _learn(self, model: Any) -> tuple[Any, list[tuple[str, str]]] | None:
        report = LoadReport([])
        value = self._read(model, Spot("", "", Place("")), report)
        if report.problems or report.notes or report.warnings:
            return None
        return value, [(spot.attribute, spot.path) for spot in report.spots.values()]


Matched = dict[str, tuple[Node, Spot]]  # by field name

_NO_SECTION = "must be a section of options (key: value)"


class Walk:
    """Reads models top down. Values with a problem are FAILED."""

    def __init__(self, env: Mapping[str, str], report: LoadReport) -> None:
        self._env = env
        self._report = report
        self._raw = RawMaps(env, report)
        self._enclosing: list[tuple[Names, str]] = []  # the sections around the current one
        self._blanks = BlankSections(
            lambda model, spot, report: Walk(env, report).section(model, Section((), spot.place), spot)
        )

    def section(self, model: Any, node: Node, spot: Spot, kinds: Kinds | None = None) -> Any:
        """Return a dataclass from a section, or its conversion; a section without options has the defaults."""
        self._report.spots[spot.attribute] = spot
        if is_null(node):
            node = Section((), spot.place)
        if not isinstance(node, Section):
            example = getattr(model, "as_in", "")
            return self._report.fail(spot, f"{_NO_SECTION}, as in {example!r}" if example else _NO_SECTION)
        matched: Matched = {}
        names = Names.for_model(model, kinds)
        misspelt = self._match(names, node, "", spot, matched)
        explained = any(self._report.is_reported(dotted(spot.path, name)) for name in getattr(model, "explain", ()))
        self._enclosing.append((names, spot.path))
        values = {
            option.name: FAILED
            if explained and option.required and option.name not in matched
            else self._option(option, matched.get(option.name), spot)
            for option in options(model)
        }
        self._enclosing.pop()
        if misspelt or explained or FAILED in values.values():
            return FAILED
        return self._checked(model(**values), spot)

    def _checked(self, value: Any, spot: Spot) -> Any:
        checked = self._report.checked(value, value.check() if hasattr(value, "check") else (), spot)
        if checked is FAILED:
            return FAILED
        self._report.note(value.remarks() if hasattr(value, "remarks") else (), spot)
        self._report.warn(value.cautions() if hasattr(value, "cautions") else (), spot)
        return value.converted() if hasattr(value, "converted") else value

    def of_kind(self, kinds: Kinds, node: Node, spot: Spot) -> Any:
        """Return a section of the kind that it gives."""
        given = node.children(lambda *_: None).get(kinds.key) if isinstance(node, Section) else None
        if not isinstance(given, Scalar) or is_null(given):
            return self.section(kinds.models[kinds.default], node, spot, kinds)
        where = spot.option(kinds.key, kinds.key, given)
        kind = self._raw.expanded(given, where)
        if kind is FAILED:
            return FAILED
        if kind.text not in kinds.models:
            return self._report.fail(where, kinds.unknown(kind.text))
        return self.section(kinds.models[kind.text], node, spot, kinds)

    def _named(self, named: NamedItems, node: Node, spot: Spot) -> Any:
        """Return one section under its name."""
        if isinstance(node, Scalar) and not is_null(node):
            return self._report.fail(spot, named.without_colon(node.text))
        if not isinstance(node, Section):
            return self._report.fail(spot, named.wrong_shape())
        children = node.children(self._report.clash(spot.path))
        for key, model in named.whole.items():
            if key in children:
                return self.section(model, node, spot)
        if len(children) != 1:
            return self._report.fail(spot, named.wrong_shape(list(children)))
        ((name, child),) = children.items()
        if name in named.ignored:
            self._report.report_ignored(spot.name(name, child), named.ignored[name])
            return LEFT_OUT
        if name not in named.models:
            return self._report.fail(spot.name(name, child), named.unknown(name))
        if not isinstance(child, Section) and not is_null(child):
            return self._report.fail(spot.name(name, child), f"{_NO_SECTION}, as in {beginning(named.models[name])!r}")
        return self.section(named.models[name], child, spot.name(name, child))

    def _match(self, names: Names, section: Section, prefix: str, spot: Spot, matched: Matched) -> bool:
        """Sort the written options into `matched`; unknown ones become a problem or a note. Return True if an unknown
        name is an error here: it may be the name that a check would miss.
        """
        misspelt = False
        for key, node in section.children(self._report.clash(dotted(spot.path, prefix))).items():
            name = dotted(prefix, key)
            option = names.options.get(name)
            if option is not None:
                self._take(option, node, spot.option(option.name, name, node), matched)
            elif names.is_foreign(name):
                self._foreign(names, name, node, spot.name(name, node))
            elif not names.is_beginning(name):
                misspelt |= self._unknown(names, name, spot.name(name, node))
            elif isinstance(node, Section):
                misspelt |= self._match(names, node, name, spot, matched)
            elif not is_null(node):
                self._report.fail(spot.name(name, node), _NO_SECTION)
        return misspelt

    def _unknown(self, names: Names, name: str, spot: Spot) -> bool:
        """Report an unknown name. Return True if it is an error here."""
        message = names.unknown(name, self._enclosing)
        return self._report.fail(spot, message) is FAILED if names.strict else self._report.lapse(spot, message)

    def _take(self, option: Option, node: Node, spot: Spot, matched: Matched) -> None:
        if option.name in matched:
            other = matched[option.name][1]
            self._report.fail(spot, f"duplicates {other.path} ({other.place}); keep one")
        matched[option.name] = (node, spot)

    def _foreign(self, names: Names, name: str, node: Node, spot: Spot) -> None:
        if is_null(node):
            return
        if name in names.ignored:
            self._report.report_ignored(spot, names.ignored[name])
        elif name not in names.not_yet and name in names.others:
            self._report.lapse(spot, names.others[name])
        elif _disabled(node):
            self._report.report_ignored(spot, "not enabled")
        else:
            self._report.fail(spot, _sentence("not supported", names.not_yet[name]))

    def _option(self, option: Option, matched: tuple[Node, Spot] | None, above: Spot) -> Any:
        if matched is None:
            return self._unwritten(option, above)
        node, spot = matched
        node = self._filled(option, node, spot)
        if node is FAILED:
            return FAILED
        is_empty = is_null(node)
        if not is_empty and "unused" in option.about:
            self._report.report_ignored(spot, option.about["unused"])
        if option.always:
            return self.section(option.section, node, spot)
        if is_empty and (option.section is None or option.many or "null" in option.about):
            return self._absent(option, spot)
        self._report.spots[spot.attribute] = spot
        value = self._value(option, option.hint, node, spot)
        return value if value is FAILED else self._bounded(option, value, spot)

    def _unwritten(self, option: Option, above: Spot) -> Any:
        spot = above.option(option.name, option.keys[-1 if self._report.tolerant else 0])
        if option.always and "missing" not in option.about:
            return self._blanks.section(option.section, spot, self._report)
        return self._absent(option, spot)

    def _absent(self, option: Option, spot: Spot) -> Any:
        if option.required:
            return self._report.fail(spot, _sentence("missing", option.about.get("missing", "")))
        if "wanted" in option.about and self._report.lapse(spot, f"missing; {option.about['wanted']}"):
            return FAILED
        return option.default

    def _filled(self, option: Option, node: Node, spot: Spot) -> Any:
        """Return the node with variables expanded. A variable by itself may stand for a whole list."""
        filled = self._raw.expanded(node, spot)
        is_plain = option.many and not (option.section or option.named_items)
        if is_plain and filled is not FAILED and isinstance(node, Scalar) and is_variable(node.text):
            return scalars.as_list(filled)
        return filled

    def _bounded(self, option: Option, value: Any, spot: Spot) -> Any:
        about = option.about
        if "min" in about and value < about["min"]:
            return self._report.fail(spot, f"must be at least {about['min']}")
        if "max" in about and value > about["max"]:
            return self._report.fail(spot, f"must be at most {about['max']}")
        return self._report.checked(value, about["check"](value) if "check" in about else (), spot)

    def _value(self, option: Option, hint: Any, node: Node, spot: Spot) -> Any:
        if get_origin(hint) is tuple:
            return self._items(option, get_args(hint)[0], node, spot)
        if Template in (hint, *get_args(hint)):
            return self._template(option, node, spot)
        if option.kinds:
            return self.of_kind(option.kinds, node, spot)
        if option.named_items:
            return self._named(option.named_items, node, spot)
        if option.section is not None:
            return self.section(option.section, node, spot)
        if get_origin(hint) is dict:
            return self._map(get_args(hint)[1], node, spot)
        if hint is Any:
            return self._raw.nested(node, spot)
        if not isinstance(node, Scalar):
            kind = "list" if isinstance(node, ListNode) else "section"
            return self._report.fail(spot, f"must be a single value, not a {kind}")
        try:
            return scalars.typed(node, hint)
        except ValueError as error:
            return self._report.fail(spot, str(error))

    def _template(self, option: Option, node: Node, spot: Spot) -> Any:
        """Return a section that is read later. If its model is known, it is first read as a trial."""
        if not isinstance(node, Section):
            return self._report.fail(spot, _NO_SECTION)
        section = replace(node, name=spot.path)
        template = Template(section, spot.path, self._env, tolerant=self._report.tolerant)
        if "template_of" not in option.about:
            return template
        trial = LoadReport([], tolerant=self._report.tolerant)
        prepared = option.about["prepared"](section, trial.problems, self._report.tolerant)
        Walk(placeholders(self._env), trial).of_kind(option.about["template_of"], prepared, spot)
        return FAILED if self._report.merge(trial, except_at=undecided(section)) else template

    def _map(self, hint: Any, node: Node, spot: Spot) -> Any:
        if not isinstance(node, Section):
            return self._report.fail(spot, _NO_SECTION)
        if is_by_topic(hint):
            return TopicMaps(self._raw).read(hint, node, spot)
        return self._raw.nested(node, spot) if hint is Any else self._raw.flat(node, spot)

    def _items(self, option: Option, hint: Any, node: Node, spot: Spot) -> Any:
        """Return a list; a single value becomes a list of one, as in Filebeat."""
        listed = as_list(node)
        if listed is None and option.named_items:
            listed = ListNode((node,), node.place)
        if listed is None:
            return self._report.fail(spot, "must be a list (- item)")
        values = [self._item(option, hint, item, spot.item(index, item)) for index, item in enumerate(listed.items)]
        if FAILED in values:
            return FAILED
        values = [value for value in values if value is not LEFT_OUT]
        split = option.about.get("split")
        return tuple(values) if split is None else tuple(_parts(values, split))

    def _item(self, option: Option, hint: Any, node: Node, spot: Spot) -> Any:
        self._report.spots[spot.attribute] = spot
        filled = self._raw.expanded(node, spot)
        if filled is FAILED:
            return FAILED
        if option.section is None and option.named_items is None and hint is not Any and is_null(filled):
            return self._report.fail(spot, "is empty")
        return self._value(option, hint, filled, spot)


def _parts(values: Sequence[str], split: str) -> list[str]:
    return [part.strip() for value in values for part in value.split(split) if part.strip()]


def _disabled(node: Node) -> bool:
    enabled = node.children(lambda *_: None).get("enabled") if isinstance(node, Section) else node
    return isinstance(enabled, Scalar) and scalars.is_false(enabled)


def _sentence(what: str, more: str) -> str:
    return f"{what}; {more}" if more else what
