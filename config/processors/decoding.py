"""Processors: what decodes and derives values."""

from config.processors.base import ProcessorConfig

MODELS: tuple[type[ProcessorConfig], ...] = ()
