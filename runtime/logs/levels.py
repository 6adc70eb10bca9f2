"""The level of each component: a name that users know, for some of the program's loggers."""

import logging
from collections.abc import Mapping, Sequence

# librdkafka's own log, silent unless its component has a level: important messages arrive by callback.
LIBRDKAFKA = "librdkafka"


def set_levels(components: Mapping[str, Sequence[str]], levels: Mapping[str, str]) -> None:
    """Set the level of each component's loggers; the default is the log's level. `components`: the loggers of each,
    `levels`: the configuration.
    """
    logging.getLogger(LIBRDKAFKA).setLevel(logging.CRITICAL)
    for component, loggers in components.items():
        for name in loggers:
            if component in levels:
                logging.getLogger(name).setLevel(levels[component].upper())
            elif name != LIBRDKAFKA:
                logging.getLogger(name).setLevel(logging.NOTSET)
