"""Processors: what adds facts about the host, the process, the container."""

from config.processors.base import ProcessorConfig

MODELS: tuple[type[ProcessorConfig], ...] = ()
