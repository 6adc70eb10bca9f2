"""The typed configuration: one YAML file in, frozen dataclasses out, every mistake with its file, line and dotted path.

errors      Place, Problem, ConfigError
tree        what a file says, with places; dotted and nested keys are one
document    YAML text and -E overrides -> tree
expand      ${VAR}, ${VAR:default}, ${VAR:?message}
units       sizes and durations
patterns    regular expressions
variables   what a name stands for: the environment, other options
scalars     one scalar -> the type that a hint asks for
schema      a model's options, read from its dataclasses
report      problems, notes, and the places of values
raw         maps whose keys we do not know
walk        tree -> model, all problems at once
load        all of that in order
model       what the shipper can be told (with inputs, flat_inputs, identity, parsers, outputs)
checks      checks that several options share
included    inputs in files of their own
kafka       output.kafka (with kafka_parts, kafka_security, codec)
queues      queue
logs        logging
feeding     an input that would read what the shipper writes
sink        what the Spark sink can be told
filebeat    what Filebeat has and we do not
reference   the page of all options
permissions who may write the file
"""
