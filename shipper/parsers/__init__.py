"""The parsers, one in each module, which has the parser's name in a configuration: its options, an example,
and the reader that turns lines into messages. A new one is a new module here, and its tests.

Its model is `<Name>Config`, a ParserConfig (`reader/base.py`) with `build`. Its messages must not depend on where the
reads end. What several of them need is in `reader`.
"""
