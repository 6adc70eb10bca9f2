"""The processors, one in each module, which has the processor's name in a configuration: its options, an example, and
what it does to events. A new one is a new module here, and its tests.

Its model is a ProcessorConfig with its `name` and `build`, which returns what runs (`processor/base.py`: a Processor,
or an EventProcessor for one event after the other). What several of them need is in `processor`.
"""
