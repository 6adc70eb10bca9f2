"""The processors, one module each, named as in a configuration: options, example and behaviour.

The options are a ProcessorConfig with `name` and `build`, which returns the running processor (`processor/base.py`: a
Processor, or an EventProcessor for single events). Shared code is in `processor`. A new processor is a new module here,
with its tests.
"""
