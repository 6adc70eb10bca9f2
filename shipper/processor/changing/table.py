"""Which class does the work of which configuration: what sets, moves and drops fields and events."""

from config.shipper.processors import adding, moving, values
from shipper.processor.base import Table
from shipper.processor.changing.add import AddFields, AddId, AddLabels, AddLocale, AddTags
from shipper.processor.changing.drop import DropEvent, IncludeFields, drop_fields
from shipper.processor.changing.lists import append, extract_array
from shipper.processor.changing.move import MoveFields, copy_fields, rename
from shipper.processor.changing.rate_limit import RateLimit
from shipper.processor.changing.values import convert, replace, truncate_fields, urldecode

TABLE: Table = {
    adding.AddFieldsConfig: lambda config, _: AddFields(config),
    adding.AddIdConfig: lambda config, _: AddId(config),
    adding.AddLabelsConfig: lambda config, _: AddLabels(config),
    adding.AddLocaleConfig: lambda config, around: AddLocale(config, around.clock),
    adding.AddTagsConfig: lambda config, _: AddTags(config),
    adding.AppendConfig: lambda config, _: append(config),
    moving.CopyFieldsConfig: lambda config, _: copy_fields(config),
    moving.DropEventConfig: lambda *_: DropEvent(),
    moving.DropFieldsConfig: lambda config, _: drop_fields(config),
    moving.IncludeFieldsConfig: lambda config, _: IncludeFields(config),
    moving.MoveFieldsConfig: lambda config, _: MoveFields(config),
    moving.RateLimitConfig: lambda config, around: RateLimit(config, around.clock),
    moving.RenameConfig: lambda config, _: rename(config),
    values.ConvertConfig: lambda config, _: convert(config),
    values.ExtractArrayConfig: lambda config, _: extract_array(config),
    values.ReplaceConfig: lambda config, _: replace(config),
    values.TruncateFieldsConfig: lambda config, _: truncate_fields(config),
    values.UrldecodeConfig: lambda config, _: urldecode(config),
}
