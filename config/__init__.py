"""The engine of typed configurations: YAML in, frozen dataclasses out; every mistake is reported with file, line and
dotted path. It knows no option: those are in `shipper/options` and `spark_sink/options`.

Each room imports only from those above it (tests/test_architecture.py):

text        compilers of patterns, globs, encodings, time layouts and format strings: options are checked with them
            here, and the agent and the sink run them
yaml        the engine: files -> tree (`document`, `composing`) -> dataclasses (`walk`), all of it in order in `load`
top level   what shows a model: `export` (the configuration in effect), `reference` (the pages of all options),
            `json_schema` (for editors)

Why the engine is our own: pydantic 2.14 and msgspec 0.22 were measured in its place, on the same trees, so that lines
and dotted keys stayed.

- Start: importing pydantic takes 0.10 s, and building the 97 models of the shipper's options 0.15 to 0.30 s (0.09 s
  where models that are not used are deferred). The engine reads a configuration with one input in 0.01 s.
- Speed: with 4,000 inputs pydantic would save at best 0.4 s of 1.8.
- Code: some 400 of the 2,050 lines of engine and commands would go, and 80 lines of glue come back. Bounds on files,
  places, the merge of dotted keys and of files, variables, notes about ignored options and "did you mean" have no
  counterpart. Even without `walk`, `schema`, `names`, `maps`, `scalars` and `json_schema` it would be 930 lines less.
- msgspec is imported in 4 ms, but reports the first mistake only; the user who edits a file wants to see all of them.
"""
