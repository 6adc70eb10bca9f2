"""The conditions of `when` and `if`."""

from config.conditions import ConditionConfig
from shipper.processor.base import Condition


def build(config: ConditionConfig) -> Condition:
    raise NotImplementedError
