"""The level of each component: a name that a user knows, for some loggers of the program."""

import logging
from collections.abc import Mapping, Sequence

# librdkafka's own log, which is silent unless its component has a level: what matters of it comes by callbacks.
LIBRDKAFKA = "librdkafka"


def set_levels(components: Mapping[str, Sequence[str]], levels: Mapping[str, str]) -> None:
    """Give the loggers of each component its level; without one they have that of the whole log. `components`: the
    loggers of each, `levels`: what is configured."""
    logging.getLogger(LIBRDKAFKA).setLevel(logging.CRITICAL)
    for component, loggers in components.items():
        for name in loggers:
            if component in levels:
                logging.getLogger(name).setLevel(levels[component].upper())
            elif name != LIBRDKAFKA:
                logging.getLogger(name).setLevel(logging.NOTSET)
