"""The parsers, one in each module, which has the parser's name in a configuration: its options, an example,
and the reader that turns lines into messages. A new one is a new module here, and its tests.

Its model is a ParserConfig (`reader/base.py`) with its `name` and `build`. Its messages must not depend on where the
reads end. What several of them need is in `reader`.
"""
