"""Processors: what sets, moves and drops fields and events."""

from config.processors.base import ProcessorConfig

MODELS: tuple[type[ProcessorConfig], ...] = ()
