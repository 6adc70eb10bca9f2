"""Processors: what takes a text apart."""

from config.processors.base import ProcessorConfig

MODELS: tuple[type[ProcessorConfig], ...] = ()
