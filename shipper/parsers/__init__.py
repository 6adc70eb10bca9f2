"""The parsers, one module each, named as in a configuration: options, example and the reader that turns lines into
messages.

The options are a ParserConfig (`reader/base.py`) with `name` and `build`. Messages must not depend on where reads end.
Shared code is in `reader`. A new parser is a new module here, with its tests.
"""
