"""Finds the secrets written in a tree: a message about any value may quote one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from log_shipper.config.text.secrets import has_secrets, hidden, is_secret, without_passwords
from log_shipper.config.yaml import scalars
from log_shipper.config.yaml.errors import Problem
from log_shipper.config.yaml.report import dotted
from log_shipper.config.yaml.tree import ListNode, Node, Section


def without_secrets(
    problems: Sequence[Problem], root: Section, env: Mapping[str, str], others: Collection[str]
) -> list[Problem]:
    """Return the problems with secrets of the tree, and passwords in addresses, masked."""
    secrets = {*others, *secrets_in(root, env)}
    return [replace(problem, message=without_passwords(hidden(problem.message, secrets))) for problem in problems]


def secrets_in(node: Node, env: Mapping[str, str], name: str = "", *, in_secret: bool = False) -> Iterator[str]:
    """Yield the values of all secret options (by name) below a node, as written and with variables expanded. `name`:
    the dotted name of the node; `in_secret`: an option above it is a secret.
    """
    if isinstance(node, Section):
        inside = in_secret or has_secrets(name)
        for entry in node.entries:
            yield from secrets_in(entry.node, env, dotted(name, entry.key), in_secret=inside)
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from secrets_in(item, env, name, in_secret=in_secret)
    elif in_secret or is_secret(name, node.text):
        yield node.text
        try:
            yield scalars.expanded(node, env).text
        except ValueError:  # reported when the option is read
            return
