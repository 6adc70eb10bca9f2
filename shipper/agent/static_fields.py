"""The configured tags and fields that all events of an input have."""

from log_shipper.shipper.event import Doc
from log_shipper.shipper.formats.record import merged, static_members
from log_shipper.shipper.options.inputs import EveryInput
from log_shipper.shipper.options.model import ShipperConfig
from log_shipper.shipper.options.rooted_fields import left_out


def static_fields(config: EveryInput, root: ShipperConfig) -> Doc:
    """Return the tags and fields of the configuration and of the input; the input's take precedence. Raises
    StartError."""
    nested: Doc = {}
    rooted: Doc = {}
    for section in (root, config):
        if section.fields_under_root:
            without = {name for name, _ in left_out(section.fields)}
            rooted = merged(rooted, {name: value for name, value in section.fields.items() if name not in without})
        else:
            nested = merged(nested, section.fields)
    metadata: Doc = {"@metadata": {"pipeline": config.pipeline}} if config.pipeline else {}
    return static_members((*root.tags, *config.tags), nested, merged(rooted, metadata))


def check_fields(config: ShipperConfig) -> None:
    """Check what the model alone cannot, without starting anything. Raises StartError."""
    for config_input in config.inputs:
        static_fields(config_input, config)
