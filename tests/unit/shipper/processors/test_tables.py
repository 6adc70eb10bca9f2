"""What each processor makes of an event. Each case holds for members of the event itself, and for the same members
when the file has them, which all of its events share."""

import pytest
import yaml

from log_shipper.shipper.event import Doc
from tests.processing import processed
from tests.tables import rows

Case = tuple[str, Doc, Doc]


def case(config: str, before: str, after: str) -> Case:
    """`after` is "! " and the reason for what fails, which leaves the event as it was."""
    event = yaml.safe_load(before)
    if after.startswith("! "):
        return config, event, {**event, "error": {"message": after[2:], "type": config.partition(":")[0]}}
    return config, event, yaml.safe_load(after)


CASES = [
    case(*row)
    for row in rows(r"""
    add_fields: {fields: {env: prod}} -> {} -> {fields: {env: prod}}
    add_fields: {fields: {env: prod}} -> {fields: {a: 1, env: dev}} -> {fields: {a: 1, env: prod}}
    add_fields: {target: project, fields: {name: x, id: '1'}} -> {} -> {project: {name: x, id: '1'}}
    add_fields: {target: a.b, fields: {n: 1}} -> {a: {c: 2}} -> {a: {c: 2, b: {n: 1}}}
    add_fields: {target: '', fields: {a.b: 1, c: [2, {d: 3}]}} -> {a: {x: 0}} -> {a: {x: 0, b: 1}, c: [2, {d: 3}]}
    add_fields: {target: '', fields: {a: {b: 1}}} -> {a: text} -> {a: {b: 1}}
    add_fields: {target: '', fields: {a: text}} -> {a: {b: 1}} -> {a: text}
    add_fields: {target: '', fields: {a: {}}} -> {a: {b: 1}} -> {a: {b: 1}}
    add_fields: {fields: {}} -> {a: 1} -> {a: 1, fields: {}}
    add_labels: {labels: {number: 1, with.dots: x, nested: {with.dots: y}, array: [do, re, {with.field: mi}]}} -> {}
        -> {labels: {number: 1, with.dots: x, nested.with.dots: y, array.0: do, array.1: re, array.2.with.field:
        mi}}
    add_labels: {labels: {a: new}} -> {labels: {a: old, b: 1}} -> {labels: {a: new, b: 1}}
    add_tags: {tags: [web, prod]} -> {} -> {tags: [web, prod]}
    add_tags: {tags: [web]} -> {tags: [a, web]} -> {tags: [a, web, web]}
    add_tags: {tags: web, target: a.b} -> {} -> {a: {b: [web]}}
    add_tags: {tags: [web]} -> {tags: a} -> ! tags is not a list of tags
    append: {target_field: t, values: [x, 1]} -> {} -> {t: [x, 1]}
    append: {target_field: t, values: [x]} -> {t: y} -> {t: [y, x]}
    append: {target_field: t, values: [a, null, b]} -> {} -> {t: [a, null, b]}
    append: {target_field: t, values: [a, null], ignore_empty_values: true} -> {} -> {t: [a]}
    append: {target_field: t, values: [x]} -> {t: [y]} -> {t: [y, x]}
    append: {target_field: t, fields: [a.b, c]} -> {a: {b: 1}, c: [2, 3]} -> {t: [1, 2, 3], a: {b: 1}, c: [2, 3]}
    append: {target_field: t, fields: [a], values: [x]} -> {t: 0} -> ! field a is missing
    append: {target_field: t, fields: [a], values: [x], fail_on_error: false} -> {t: 0} -> {t: 0}
    append: {target_field: t, fields: [a], values: [x], ignore_missing: true} -> {} -> {t: [x]}
    append: {target_field: t, fields: [a], ignore_missing: true} -> {} -> {}
    append: {target_field: t, fields: [a], values: ['', 0], ignore_empty_values: true}
        -> {a: [null, '', x]} -> {a: [null, '', x], t: [x, 0]}
    append: {target_field: t, values: [x, y, x], allow_duplicate: false} -> {t: [y]} -> {t: [y, x]}
    append: {target_field: a.b, values: [x]} -> {a: 1} -> ! a.b cannot be written: something above 'b' is not an object
    copy_fields: {fields: [{from: a, to: b.c}]} -> {a: [1]} -> {a: [1], b: {c: [1]}}
    copy_fields: {fields: [{from: a, to: b}, {from: c, to: d}]} -> {a: 1, c: 2} -> {a: 1, b: 1, c: 2, d: 2}
    copy_fields: {fields: [{from: a, to: b}, {from: c, to: d}]} -> {a: 1} -> ! field c is missing
    copy_fields: {fields: [{from: a, to: b}, {from: c, to: d}]}
        -> {a: 1, c: 2, d: 3} -> ! field d already exists; drop or rename it first
    copy_fields: {fail_on_error: false, fields: [{from: a, to: b}, {from: c, to: d}]} -> {c: 2} -> {c: 2, d: 2}
    copy_fields: {ignore_missing: true, fields: [{from: a, to: b}, {from: c, to: d}]} -> {c: 2} -> {c: 2, d: 2}
    copy_fields: {fields: [{from: log.file.path, to: file.path}]} -> {} -> {file: {path: /var/log/app.log}}
    rename: {fields: [{from: a.g, to: e.d}]} -> {a: {g: 1, h: 2}} -> {a: {h: 2}, e: {d: 1}}
    rename: {fields: [{from: a, to: a.value}]} -> {a: 1} -> {a: {value: 1}}
    rename: {fields: [{from: a, to: b.x}]}
        -> {a: 1, b: 2} -> ! b.x cannot be written: something above 'x' is not an object
    rename: {fields: [{from: a, to: b}, {from: c, to: d}]} -> {a: {x: 1}, c: 2} -> {b: {x: 1}, d: 2}
    rename: {fields: [{from: a, to: b}, {from: c, to: d}]} -> {a: {x: 1}} -> ! field c is missing
    rename: {fields: [{from: a, to: b}, {from: c, to: d}]}
        -> {a: 1, c: 2, b: 0} -> ! field b already exists; drop or rename it first
    rename: {fail_on_error: false, fields: [{from: x, to: y}, {from: c, to: d}]} -> {c: 2} -> {d: 2}
    rename: {ignore_missing: true, fields: [{from: x, to: y}, {from: c, to: d}]} -> {c: 2} -> {d: 2}
    rename: {fields: [{from: '@metadata.a', to: _id}]} -> {'@metadata': {a: 1}} -> {'@metadata': {}, _id: 1}
    move_fields: {from: app, fields: [method, elapsed], to: rpc.}
        -> {app: {method: a, elapsed: 100, user: 7}} -> {app: {user: 7}, rpc: {method: a, elapsed: 100}}
    move_fields: {from: app, exclude: [user], to: my_}
        -> {app: {method: a, elapsed: 100, user: 7}} -> {app: {user: 7}, my_method: a, my_elapsed: 100}
    move_fields: {from: app, to: app.deep.} -> {app: {a: 1}} -> {app: {deep: {a: 1}}}
    move_fields: {from: app, fields: [a.b], to: x.} -> {app: {a: {b: 1, c: 2}}} -> {app: {a: {c: 2}}, x: {a: {b: 1}}}
    move_fields: {fields: [a], to: x_} -> {a: 1, b: 2} -> {x_a: 1, b: 2}
    move_fields: {from: app, fields: [method, none], to: rpc.}
        -> {app: {method: a, elapsed: 100, user: 7}} -> ! field app.none is missing
    move_fields: {from: app, fields: [user, none], to: rpc., ignore_missing: true}
        -> {app: {user: 7}} -> {app: {}, rpc: {user: 7}}
    move_fields: {from: app, to: x.} -> {} -> ! field app is missing
    move_fields: {from: app, to: x.} -> {app: 1} -> ! field app is not an object
    move_fields: {from: app, to: x.}
        -> {app: {a: 1, b: 2}, x: 5} -> ! x.a cannot be written: something above 'a' is not an object
    drop_fields: {fields: [a.b, c]} -> {a: {b: 1, x: 2}, c: 3, d: 4} -> {a: {x: 2}, d: 4}
    drop_fields: {fields: [none, a.none]} -> {a: {x: 2}} -> {a: {x: 2}}
    drop_fields: {fields: ['@timestamp', type, type.a]} -> {type: {a: 1}} -> {type: {a: 1}}
    drop_fields: {fields: []} -> {a: 1} -> {a: 1}
    drop_fields: {fields: ['@metadata.a']} -> {'@metadata': {a: 1, b: 2}} -> {'@metadata': {b: 2}}
    drop_fields: {fields: ['@metadata.a', '/^a|b/']} -> {'@metadata': {a: 1, b: 2}, a: 1} -> {'@metadata': {b: 2}}
    drop_fields: {fields: ['/^a/', c]} -> {a: 1, ab: {x: 2}, c: 1, ba: {a: 1}} -> {ba: {a: 1}}
    drop_fields: {fields: ['/[.]secret$/']}
        -> {a: {secret: 1, b: {secret: 2, c: 3}}, secret: 4} -> {a: {b: {c: 3}}, secret: 4}
    drop_fields: {fields: ['/t/']} -> {type: 1, text: 2, a: 1} -> {type: 1, a: 1}
    include_fields: {fields: [a, b.c]} -> {a: {x: 1}, b: {c: 2, d: 3}, e: 4} -> {a: {x: 1}, b: {c: 2}}
    include_fields: {fields: [b.none]}
        -> {a: 1, b: {c: 2}, type: t, '@metadata': {x: 1}} -> {type: t, '@metadata': {x: 1}}
    include_fields: {fields: []} -> {a: 1} -> {}
    include_fields: {fields: [a.b, a.b.c]} -> {a: {b: x, b.c: 1, d: 2}} -> {a: {b: x, b.c: 1}}
    include_fields: {fields: [a.b.c, a.d]} -> {a: {b: {c: 1, x: 2}, d: [3], e: 4}} -> {a: {b: {c: 1}, d: [3]}}
    extract_array: {field: l, mappings: {source.ip: 0, x: 2}}
        -> {l: [a, b, {c: 1}]} -> {l: [a, b, {c: 1}], source: {ip: a}, x: {c: 1}}
    extract_array: {field: l, mappings: {x: 0, y: 1}} -> {l: [a]} -> ! l has 1 items, but no item 1
    extract_array: {field: l, mappings: {x: 0, y: 1}, fail_on_error: false} -> {l: [a]} -> {l: [a], x: a}
    extract_array: {field: l, mappings: {x: 0}} -> {l: a} -> ! l is not a list
    extract_array: {field: l, mappings: {x: 0}} -> {} -> ! field l is missing
    extract_array: {field: l, mappings: {x: 0}, ignore_missing: true} -> {} -> {}
    extract_array: {field: l, mappings: {x: 0}}
        -> {l: [1], x: 2} -> ! field x already exists; drop it first, or set overwrite_keys
    extract_array: {field: l, mappings: {x: 0}, overwrite_keys: true} -> {l: [1], x: 2} -> {l: [1], x: 1}
    extract_array: {field: l, mappings: {x: 0, y: 1, z: 2}, omit_empty: true}
        -> {l: ['', {}, 0]} -> {l: ['', {}, 0], z: 0}
    replace: {fields: [{field: a.b, pattern: '/usr/', replacement: /usr/local/}]}
        -> {a: {b: /usr/bin}} -> {a: {b: /usr/local/bin}}
    replace: {fields: [{field: a, pattern: '(\w+)@(\w+)', replacement: '$2 $${1}x$$'}]}
        -> {a: 'me@you, é@b'} -> {a: 'you mex$, é@b'}
    replace: {fields: [{field: a, pattern: '(b)|(c)', replacement: '<$1$2>'}]} -> {a: abc} -> {a: a<b><c>}
    replace: {fields: [{field: a, pattern: '(?P<x>.)b', replacement: $x$x}]} -> {a: ébb} -> {a: ééb}
    replace: {fields: [{field: a, pattern: 'x*', replacement: '-'}]} -> {a: axb} -> {a: -a-b-}
    replace: {fields: [{field: a, pattern: 'b', replacement: ''}]} -> {a: abba} -> {a: aa}
    replace: {fields: [{field: a, pattern: 'b', replacement: x}]} -> {a: 5} -> ! field a is not a string
    replace: {fields: [{field: a, pattern: b, replacement: x}]} -> {} -> ! field a is missing
    replace: {ignore_missing: true, fields: [{field: a, pattern: b, replacement: x}]} -> {} -> {}
    replace: {fields: [{field: a, pattern: b, replacement: x}, {field: c, pattern: b, replacement: x}]}
        -> {a: b} -> ! field c is missing
    replace: {fail_on_error: false, fields: [{field: c, pattern: b, replacement: x}, {field: a, pattern: b,
        replacement: x}]} -> {a: b} -> {a: x}
    truncate_fields: {fields: [a], max_characters: 3} -> {a: aéöx} -> {a: aéo}
    truncate_fields: {fields: [a], max_bytes: 3} -> {a: aéx} -> {a: aé}
    truncate_fields: {fields: [a], max_bytes: 0.001KiB} -> {a: aéx} -> {a: a}
    truncate_fields: {fields: [a], max_bytes: 2} -> {a: aéx} -> {a: a}
    truncate_fields: {fields: [a], max_bytes: 4} -> {a: aéx} -> {a: aéx}
    truncate_fields: {fields: [a], max_characters: 0} -> {a: x} -> {a: ''}
    truncate_fields: {fields: [a, b], max_characters: 1} -> {a: xx} -> ! field b is missing
    truncate_fields: {fields: [b, a], max_characters: 1, fail_on_error: false} -> {a: xx} -> {a: x}
    truncate_fields: {fields: [b, a], max_characters: 1, ignore_missing: true} -> {a: xx} -> {a: x}
    truncate_fields: {fields: [a], max_characters: 1} -> {a: [xx]} -> ! field a is not a string
    urldecode: {fields: [{from: a}]} -> {a: x%20y+z%C3%A9} -> {a: x y zé}
    urldecode: {fields: [{from: a, to: b}]} -> {a: plain} -> {a: plain, b: plain}
    urldecode: {fields: [{from: a}]} -> {a: 100%} -> ! '%' is not a URL escape
    urldecode: {fields: [{from: a}]} -> {a: '%4g1'} -> ! '%4g' is not a URL escape
    urldecode: {fields: [{from: a}]} -> {a: '%ff'} -> {a: �}
    urldecode: {fields: [{from: a}]} -> {a: 1} -> ! field a is not a string
    urldecode: {fail_on_error: false, fields: [{from: x}, {from: a}]} -> {a: '%41'} -> {a: A}
    urldecode: {ignore_missing: true, fields: [{from: x}, {from: a}]} -> {a: '%41'} -> {a: A}
    convert: {fields: [{from: a, type: long}]} -> {a: '0x1F'} -> {a: 31}
    convert: {fields: [{from: a, to: b.c, type: integer}]} -> {a: '7'} -> {a: '7', b: {c: 7}}
    convert: {mode: rename, fields: [{from: a, to: b, type: integer}]} -> {a: '7'} -> {b: 7}
    convert: {mode: rename, fields: [{from: a, to: a, type: integer}]} -> {a: '7'} -> {a: 7}
    convert: {fields: [{from: a, to: b}]} -> {a: {x: [1]}} -> {a: {x: [1]}, b: {x: [1]}}
    convert: {fields: [{from: a, type: integer}, {from: b, type: integer}]}
        -> {a: '1', b: x} -> ! b cannot be converted to integer: 'x' is not a whole number
    convert: {tag: ports, fields: [{from: a, type: ip}]}
        -> {a: x} -> ! a cannot be converted to ip (ports): 'x' is not an IP address
    convert: {fail_on_error: false, fields: [{from: b, type: integer}, {from: a, type: integer}]}
        -> {a: '1', b: x} -> {a: 1, b: x}
    convert: {fields: [{from: x, type: long}]} -> {} -> ! field x is missing
    convert: {ignore_missing: true, fields: [{from: x, type: long}, {from: a, type: long}]} -> {a: '1'} -> {a: 1}
    """)
]
for_each_case = pytest.mark.parametrize(
    ("config", "before", "after"), CASES, ids=lambda value: value if isinstance(value, str) else ""
)


@for_each_case
def test_of_the_events_own_members(config: str, before: Doc, after: Doc) -> None:
    # Its neighbour is there to see that nothing is done to it, and that it takes nothing from it.
    made, neighbour = processed(f"- if.has_fields: [own]\n  then:\n    - {config}", {**before, "own": 1}, {"x": 9})
    if "include_fields" not in config:
        assert made.pop("own") == 1
    assert made == after
    assert neighbour == {"x": 9}


@for_each_case
def test_of_members_that_the_file_has(config: str, before: Doc, after: Doc) -> None:
    made = processed(f"- {config}", {"message": "x"}, {"message": "y"}, static=before)
    texts = [record.pop("message", None) for record in made]
    assert texts == ([None, None] if "include_fields" in config else ["x", "y"])
    assert made == [after, after]


@for_each_case
def test_of_members_that_the_file_has_for_one_of_two_events(config: str, before: Doc, after: Doc) -> None:
    branch = f"- if.contains.message: x\n  then:\n    - {config}"
    made, neighbour = processed(branch, {"message": "x"}, {"message": "y"}, static=before)
    made.pop("message", None)
    assert made == after
    assert neighbour == {"message": "y", **before}
