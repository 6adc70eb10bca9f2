"""Options of processors: what is noted about them, what is a mistake, and what values become."""

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest

from log_shipper.config.yaml.errors import ConfigError
from log_shipper.config.yaml.schema import options
from log_shipper.shipper.options.processors import PROCESSORS
from tests.processing import section
from tests.tables import rows

VALUES = """
    add_host_metadata: {cache.ttl: 1m} -> ttl -> 60.0
    add_host_metadata: {cache.ttl: -1s} -> ttl -> 0.0
    add_process_metadata: {include_fields: [process.owner]} -> fields -> ('process.owner.name', 'process.owner.id')
    add_cloud_metadata: {providers: aws} -> providers -> ('aws',)
    add_docker_metadata: {host: ''} -> host -> ''
    add_kubernetes_metadata: {host: n1} -> node -> 'n1'
    add_kubernetes_metadata: {wait_for_metadata: 500ms} -> wait_for_metadata -> 0.5
    add_kubernetes_metadata: {wait_for_metadata: true} -> wait_for_metadata -> 30.0
    add_kubernetes_metadata: {wait_for_metadata: false} -> wait_for_metadata -> 0.0
    add_kubernetes_metadata: {matchers: [{logs_path: {logs_path: /var/log/containers}}]}
      -> logs_paths -> ('/var/log/containers/',)
    decode_json_fields: {fields: a, target: ''} -> target -> ''
    decode_json_fields: {fields: a, target: } -> target -> None
    decompress_gzip_field: {field.from: a, field.to: b, max_bytes: 1KiB} -> source.to -> 'b'
    dns: {type: reverse, fields: {a.b: c.d, e: {f: g}}} -> fields -> {'a.b': 'c.d', 'e.f': 'g'}
    dns: {type: reverse, fields: {a: b}} -> kind -> 'PTR'
    dns: {type: aaaa, fields: {a: b}} -> kind -> 'AAAA'
    dns: {type: a, fields: {a: b}, success_cache: {capacity.max: 7, min_ttl: 1m}} -> success_cache.capacity -> 7
"""
# Those of Filebeat.
DEFAULTS = """
    add_fields: {fields.a: 1} -> target -> 'fields'
    add_id: -> target_field -> '@metadata._id'
    append: {target_field: a, values: [1]} -> allow_duplicate ignore_empty_values -> (True, False)
    append: {target_field: a, values: [1]} -> ignore_missing fail_on_error -> (False, True)
    convert: {fields: [{from: a, type: ip}]} -> mode ignore_missing fail_on_error -> ('copy', False, True)
    extract_array: {field: a, mappings.b: 0} -> overwrite_keys omit_empty -> (False, False)
    extract_array: {field: a, mappings.b: 0} -> ignore_missing fail_on_error -> (False, True)
    rate_limit: {limit: 1/s} -> limit algorithm.token_bucket.burst_multiplier -> ('1/s', 1.0)
    rename: {fields: [{from: a, to: b}]} -> ignore_missing fail_on_error -> (False, True)
    truncate_fields: {fields: a, max_bytes: 1} -> ignore_missing fail_on_error -> (False, True)
    add_cloud_metadata: -> timeout providers overwrite host -> (3.0, (), False, None)
    add_docker_metadata: -> host ssl cleanup_timeout -> ('unix:///var/run/docker.sock', None, 60.0)
    add_docker_metadata: -> match_source match_source_index dedot -> (True, 4, True)
    add_host_metadata: -> netinfo ttl replace_fields geo -> (True, 300.0, True, None)
    add_kubernetes_metadata: -> default_matchers logs_paths scope node -> (True, (), 'node', None)
    add_process_metadata: -> match_pids ignore_missing -> (('process.pid', 'process.parent.pid'), True)
    community_id: -> target seed -> ('network.community_id', 0)
    decode_base64_field: {field: {from: a}} -> source.to ignore_missing fail_on_error -> ('', False, True)
    decode_csv_fields: {fields: {a: b}} -> separator ignore_missing fail_on_error -> (',', False, True)
    decode_json_fields: {fields: a} -> process_array max_depth target add_error_key -> (False, 1, None, False)
    dissect: {tokenizer: '%{a}'} -> source target_prefix trim_values -> ('message', 'dissect', 'none')
    dns: {type: a, fields: {a: b}} -> order timeout transport -> ('kept', 0.5, 'udp')
    fingerprint: {fields: a} -> target_field method encoding -> ('fingerprint', 'sha256', 'hex')
    grok: {patterns: x} -> source target_prefix overwrite_keys ignore_missing -> ('message', '', True, False)
    syslog: -> source format timezone overwrite_keys -> ('message', 'auto', 'Local', True)
    timestamp: {field: t, layouts: UNIX} -> target_field timezone ignore_missing -> ('@timestamp', 'UTC', False)
"""
# With the number of notes.
NOTED = """
    drop_fields: {fields: [log.offset, agent]} -> 1 -> keeps log.offset
    drop_fields: {fields: [agent, log]} -> 1 -> keeps log.offset, log.length, log.file.id
    drop_fields: {fields: [log.file]} -> 1 -> keeps log.file.id
    drop_fields: {fields: [log.file.path, logs, log.offsets]} -> 0 -> none
    rename: {fields: [{from: a, to: b}, {from: log.length, to: c}]} -> 1 -> keeps log.length
    rename: {fields: [{from: a, to: a}, {from: a, to: a.b}]} -> 1 -> never succeeds
    copy_fields: {fields: [{from: a, to: b}, {from: a.b, to: a.b}]} -> 1 -> never succeeds
    rate_limit: {limit: 0/h} -> 1 -> 0/h drops every event that reaches it
    rate_limit: {limit: 0/s, when.has_fields: [a]} -> 0 -> none
    rate_limit: {limit: 0.1/s} -> 0 -> none
    uppercase: {fields: [Log.Offset]} -> 1 -> keeps log.offset
    add_docker_metadata: {wait_for_metadata: true, wait_for_metadata_timeout: 1m} -> 2 -> starts without Docker
    add_docker_metadata: {tls: {certificate: x}} -> 1 -> it is named ssl
    add_kubernetes_metadata: {indexers: [{ip_port: }], default_indexers.enabled: false} -> 2 -> found by its uid
    add_kubernetes_metadata: {sync_period: 1m, use_kubeadm: false, in_cluster: true} -> 3 -> ignored:
    add_kubernetes_metadata: {kube_client_options: {qps: 5, burst: 10}} -> 2 -> a few requests an hour
    add_kubernetes_metadata: {scope: cluster, node: n1} -> 1 -> not used with scope: cluster
    add_kubernetes_metadata: {matchers: [{fields: {lookup_fields: [a]}}]} -> 1 -> by path only
    add_kubernetes_metadata: {default_matchers.enabled: false} -> 1 -> no metadata is added
    dns: {type: reverse, fields: {a: b}, success_cache.capacity.initial: 1000, failure_cache.capacity.initial: 1000}
      -> 2 -> the cache grows as needed
"""
MISTAKES = """
    add_fields: -> add_fields.fields -> missing
    add_fields: {fields: {}, field: {a: 1}} -> add_fields.field -> unknown option; did you mean 'fields'?
    add_labels: {} -> add_labels.labels -> missing
    add_tags: {tags: []} -> add_tags.tags -> must not be empty
    add_tags: {tags: [a, ' ']} -> add_tags.tags[1] -> is empty
    add_tags: {tags: a, target: ''} -> add_tags.target -> is empty
    add_id: {type: uuid} -> add_id.type -> 'uuid' must be one of: elasticsearch
    add_locale: {format: long} -> add_locale.format -> 'long' must be one of: offset, abbreviation
    now: {} -> now.field -> missing
    add_network_direction: {} -> add_network_direction.internal_networks -> missing
    add_network_direction: {internal_networks: [private, lan]}
      -> add_network_direction.internal_networks[1] -> 'lan' is not a network; write 192.0.2.0/24, 2001:db8::/32, o
    lowercase: {} -> lowercase -> needs 'fields' (names to convert) or 'values' (fields whose values are converted)
    lowercase: {fields: ['']} -> lowercase.fields[0] -> is empty
    uppercase: {fields: '@timestamp'} -> uppercase.fields[0] -> @timestamp cannot be renamed; for its value use 'values'
    append: {target_field: a} -> append -> needs 'fields' or 'values' to append
    copy_fields: {fields: []} -> copy_fields.fields -> must not be empty
    copy_fields: {fields: [{from: a}]} -> copy_fields.fields[0].to -> missing
    rename: {fields: [{from: '', to: b}]} -> rename.fields[0].from -> is empty
    move_fields: {from: a} -> move_fields.to -> missing
    drop_event: {message: x} -> drop_event.message -> unknown option; known here: when
    drop_fields: {} -> drop_fields.fields -> missing
    drop_fields: {fields: [a, '']} -> drop_fields.fields[1] -> is empty
    include_fields: {} -> include_fields.fields -> missing
    rate_limit: {limit: 10} -> rate_limit.limit -> '10' is not a rate; write 10/s, 600/m or 5000/h
    rate_limit: {limit: 10/d} -> rate_limit.limit -> '10/d' is not a rate; write 10/s, 600/m or 5000/h
    rate_limit: {limit: -1/s} -> rate_limit.limit -> '-1/s' is not a rate; write 10/s, 600/m or 5000/h
    rate_limit: {limit: nan/s} -> rate_limit.limit -> 'nan/s' is not a rate; write 10/s, 600/m or 5000/h
    convert: {fields: []} -> convert.fields -> must not be empty
    convert: {fields: [{from: a}]} -> convert.fields[0] -> needs 'to' or 'type'
    convert: {fields: [{from: a, type: int}]}
      -> convert.fields[0].type -> 'int' must be one of: integer, long, float, double, string, boolean, ip
    extract_array: {field: a, mappings: {}} -> extract_array.mappings -> must not be empty
    extract_array: {field: a, mappings: {b.c: -1}}
      -> extract_array.mappings.b.c -> -1 must be the index of an item: 0, 1, 2, …
    extract_array: {field: a, mappings: {b: x}}
      -> extract_array.mappings.b -> 'x' must be the index of an item: 0, 1, 2, …
    replace: {fields: [{field: a, pattern: b}]} -> replace.fields[0].replacement -> missing
    truncate_fields: {fields: [a]} -> truncate_fields -> needs one of 'max_bytes' and 'max_characters', not both
    truncate_fields: {fields: [a], max_bytes: 1, max_characters: 1}
      -> truncate_fields -> needs one of 'max_bytes' and 'max_characters', not both
    truncate_fields: {fields: [a], max_characters: -1} -> truncate_fields.max_characters -> must be at least 0
    urldecode: {fields: [{to: a}]} -> urldecode.fields[0].from -> missing
    drop_fields: {fields: ['/(x/']} -> drop_fields.fields[0] -> is not a regular expression
    replace: {fields: [{field: a, pattern: b, replacement: $9}]}
      -> replace.fields[0].replacement -> the pattern has no group '9'
    replace: {fields: [{field: a, pattern: (b), replacement: $1a}]}
      -> replace.fields[0].replacement -> the pattern has no group '1a'; write $${1}a
    replace: {fields: [{field: a, pattern: (?P<x>b), replacement: '$0$1$x$$y$${x}$${z}'}]}
      -> replace.fields[0].replacement -> the pattern has no group 'z'
    replace: {fields: [{field: a, pattern: '(x', replacement: ''}]}
      -> replace.fields[0].pattern -> is not a regular expression
    decode_base64_field: {} -> decode_base64_field.field -> missing
    decode_base64_field: {field: {to: a}} -> decode_base64_field.field.from -> missing
    decompress_gzip_field: {field: {from: a}, max_bytes: 0} -> decompress_gzip_field.max_bytes -> must be at least 1
    decode_csv_fields: {fields: {}} -> decode_csv_fields.fields -> must not be empty
    decode_csv_fields: {fields: {a: 7}} -> decode_csv_fields.fields.a -> must be the name of a field
    decode_csv_fields: {fields: {a: b}, separator: ';;'} -> decode_csv_fields.separator -> must be one character
    decode_csv_fields: {fields: {a: b}, separator: '"'} -> decode_csv_fields.separator -> cannot be a quote
    decode_duration: {field: a, format: days} -> decode_duration.format -> must be one of: milliseconds
    decode_json_fields: {fields: []} -> decode_json_fields.fields -> must not be empty
    decode_json_fields: {fields: [a], max_depth: 0} -> decode_json_fields.max_depth -> must be at least 1
    fingerprint: {fields: [a], method: crc32} -> fingerprint.method -> must be one of: sha256
    fingerprint: {fields: ['']} -> fingerprint.fields[0] -> is empty
    community_id: {seed: 65536} -> community_id.seed -> must be at most 65535
    registered_domain: {field: a} -> registered_domain.target_field -> missing
    detect_mime_type: {field: a, target: a} -> detect_mime_type.target -> would overwrite
    dissect: {tokenizer: text} -> dissect.tokenizer -> extracts no field
    dissect: {tokenizer: '%{}'} -> dissect.tokenizer -> extracts nothing
    dissect: {tokenizer: '%{a|number}'} -> dissect.tokenizer -> the type after | must be one of: integer
    dissect: {tokenizer: '%{a|}'} -> dissect.tokenizer -> the type after | must be one of
    dissect: {tokenizer: '%{+&a}'} -> dissect.tokenizer -> cannot be combined
    dissect: {tokenizer: '%{&+a}'} -> dissect.tokenizer -> cannot be combined
    dissect: {tokenizer: '%{+}'} -> dissect.tokenizer -> needs a name
    dissect: {tokenizer: '%{a..b}'} -> dissect.tokenizer -> has an empty part
    dissect: {tokenizer: '%{&a}'} -> dissect.tokenizer -> refers to a missing key
    dissect: {tokenizer: '%{a} %{a.b}'} -> dissect.tokenizer -> 'a' cannot be both a value and an object with 'a.b'
    grok: {patterns: ['%{N}'], pattern_definitions: {N: 7}}
      -> grok.pattern_definitions.N -> must be text; put it in quotes
    redact: {patterns: [credit_cart]} -> redact.patterns[0] -> must be one of: credit_card
    redact: {patterns: []} -> redact.patterns -> nothing is masked
    redact: {fields: []} -> redact.fields -> must not be empty
    redact: {custom: {x: '('}} -> redact.custom.x -> is not a regular expression
    redact: {custom: {x: 7}} -> redact.custom.x -> must be text
    redact: {custom: {x: ''}} -> redact.custom.x -> is empty
    redact: {custom: {email: x}} -> redact.custom.email -> is a built-in pattern
    redact: {mask: xx} -> redact.mask -> must be one character
    redact: {keep_last: 4} -> redact.keep_last -> needs mask
    redact: {keep_last: -1} -> redact.keep_last -> must be at least 0
    timestamp: {field: t} -> timestamp.layouts -> missing
    timestamp: {field: t, layouts: []} -> timestamp.layouts -> must not be empty
    timestamp: {layouts: ['2006']} -> timestamp.field -> missing
    timestamp: {field: t, layouts: [UNIX], timezone: '-400'} -> timestamp.timezone -> '-400' is not a time zone
    syslog: {timezone: '-400'} -> syslog.timezone -> '-400' is not a time zone
    syslog: {format: bsd} -> syslog.format -> 'bsd' must be one of: auto, rfc3164, rfc5424
    add_host_metadata: {geo.location: here} -> add_host_metadata.geo.location -> must be latitude, longitude
    add_process_metadata: {include_fields: [process.x]}
      -> add_process_metadata.include_fields[0] -> unknown field 'process.x';
    add_process_metadata: {include_fields: [process.env]}
      -> add_process_metadata.include_fields[0] -> it needs restricted_fields: true
    add_process_metadata: {cgroup_regex: '(a)', cgroup_prefixes: [/b]}
      -> add_process_metadata.cgroup_regex -> set either this or cgroup_prefixes
    add_process_metadata: {cgroup_regex: '('} -> add_process_metadata.cgroup_regex -> is not a regular expression
    add_cloud_metadata: {providers: [aws, gce]}
      -> add_cloud_metadata.providers[1] -> 'gce' must be one of: aws, ec2, azure, gcp
    add_cloud_metadata: {timeout: 0} -> add_cloud_metadata.timeout -> must be more than 0
    add_cloud_metadata: {host: 'h:x'} -> add_cloud_metadata.host -> 'h:x' must be host:port
    add_docker_metadata: {host: /var/run/docker.sock}
      -> add_docker_metadata.host -> '/var/run/docker.sock' is not an address of Docker;
    add_docker_metadata: {host: 'npipe:////./pipe/docker_engine'}
      -> add_docker_metadata.host -> is a Windows named pipe, which is not supported
    add_docker_metadata: {host: 'tcp://h'}
      -> add_docker_metadata.host -> 'tcp://h' is not an address of Docker; write unix:///var
    add_docker_metadata: {host: 'tcp://h:x'} -> add_docker_metadata.host -> 'tcp://h:x' has no valid port
    add_docker_metadata: {host: 'https://h:1'} -> add_docker_metadata.host -> https needs a section ssl
    add_docker_metadata: {ssl: {}}
      -> add_docker_metadata.ssl -> applies only to tcp:// hosts; unix:///var/run/docker.sock is a local socket
    add_docker_metadata: {host: 'tcp://h:1', ssl: {key: /k}} -> add_docker_metadata.ssl.key -> also needs certificate
    add_kubernetes_metadata: {matchers: [{odd: {}}]} -> add_kubernetes_metadata.matchers[0].odd -> unknown matcher
    add_kubernetes_metadata: {scope: nodes} -> add_kubernetes_metadata.scope -> 'nodes' must be one of: node, cluster
    add_kubernetes_metadata: {wait_for_metadata: soon}
      -> add_kubernetes_metadata.wait_for_metadata -> 'soon' is not a duration
    add_kubernetes_metadata: {use_regex_include: true}
      -> add_kubernetes_metadata.use_regex_include -> not supported; list the labels
    add_kubernetes_metadata: {add_resource_metadata: {node: {includ_labels: [a]}}}
      -> add_kubernetes_metadata.add_resource_metadata.node.includ_labels -> include_labels
    dns: {fields: {a: b}} -> dns.type -> missing
    dns: {type: mx, fields: {a: b}} -> dns.type -> 'mx' must be one of: reverse (or PTR), A, AAAA, TXT
    dns: {type: a, fields: {}} -> dns.fields -> must not be empty
    dns: {type: a, fields: {a: 5}} -> dns.fields.a -> must be the name of a field
    dns: {type: a, fields: {a: b}, timeout: 0} -> dns.timeout -> must be more than 0
    dns: {type: a, fields: {a: b}, nameservers: ['x:y']} -> dns.nameservers[0] -> 'x:y' is not a name server
    dns: {type: a, fields: {a: b}, success_cache.min_ttl: 0} -> dns.success_cache.min_ttl -> must be more than 0
    dns: {type: a, fields: {a: b}, failure_cache.ttl: 0} -> dns.failure_cache.ttl -> must be more than 0
    dns: {type: a, fields: {a: b}, order: any} -> dns.order -> 'any' must be one of: kept, free
    {if.has_fields: [a], then: [{dns: {type: a, fields: {a: b}}}]} -> then[0].dns -> dns waits for answers
    {if.has_fields: [a], then: [{add_id: }], else: [{dns: {type: a, fields: {a: b}}}]}
      -> else[0].dns -> dns waits for answers and cannot
"""


@pytest.mark.parametrize(("item", "attributes", "value"), [*rows(VALUES), *rows(DEFAULTS)])
def test_a_value_is_read(item: str, attributes: str, value: str) -> None:
    (config,) = section(f"- {item}").processors
    assert repr(attrgetter(*attributes.split())(config)) == value


@pytest.mark.parametrize(("item", "count", "words"), rows(NOTED))
def test_what_has_no_use_here_is_accepted_with_a_note(item: str, count: str, words: str) -> None:
    notes = section(f"- {item}").notes
    assert len(notes) == int(count)
    assert all(words in note for note in notes)


@pytest.mark.parametrize(("item", "where", "words"), rows(MISTAKES))
def test_a_mistake_is_reported_where_it_was_made(item: str, where: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        section(f"- {item}")
    (line,) = str(caught.value).splitlines()
    assert f" processors[0].{where}: " in line
    assert words in line


def test_every_option_says_what_it_is_for() -> None:
    def undocumented(model: Any, above: str) -> Iterator[str]:
        for option in options(model):
            if option.section and "doc" not in option.about:
                yield from undocumented(option.section, f"{above}.{option.name}")
            elif not option.about.get("doc"):
                yield f"{above}.{option.name}"

    assert [name for each, model in PROCESSORS.models.items() for name in undocumented(model, each)] == []
