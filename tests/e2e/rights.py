"""Rights that a broker takes away from everybody, and gives back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # public, but imported there without `as`
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from demo.broker import Broker
from tests.e2e.running import PATIENCE, await_true


def forbid_writing(broker: Broker, kind: ResourceType, name: str) -> Callable[[], None]:
    """Let nobody write there, and return what allows it again. It is in effect at once: the controller answers before
    the broker has heard of the rule."""
    what = (kind, name, ResourcePatternType.LITERAL, "User:*", "*", AclOperation.WRITE, AclPermissionType.DENY)
    admin = broker.admin()  # kept until the answer is there
    rule, same = AclBinding(*what), AclBindingFilter(*what)
    admin.create_acls([rule])[rule].result(PATIENCE)
    await_true(lambda: bool(admin.describe_acls(same).result(PATIENCE)), "the broker knows the rule")

    def allow() -> None:
        admin.delete_acls([same])[same].result(PATIENCE)

    return allow


@contextmanager
def forbidden(broker: Broker, kind: ResourceType, name: str) -> Iterator[None]:
    """Nobody may write there."""
    allow = forbid_writing(broker, kind, name)
    yield
    allow()
