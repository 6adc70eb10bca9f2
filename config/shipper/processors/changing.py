"""Processors: what sets, moves and drops fields and events."""

from config.shipper.processors import adding, moving, values
from config.shipper.processors.base import ProcessorConfig

MODELS: tuple[type[ProcessorConfig], ...] = (
    adding.AddFieldsConfig,
    adding.AddIdConfig,
    adding.AddLabelsConfig,
    adding.AddLocaleConfig,
    adding.AddTagsConfig,
    adding.AppendConfig,
    moving.CopyFieldsConfig,
    moving.DropEventConfig,
    moving.DropFieldsConfig,
    moving.IncludeFieldsConfig,
    moving.MoveFieldsConfig,
    moving.RateLimitConfig,
    moving.RenameConfig,
    values.ConvertConfig,
    values.ExtractArrayConfig,
    values.ReplaceConfig,
    values.TruncateFieldsConfig,
    values.UrldecodeConfig,
)
