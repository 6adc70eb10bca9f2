import itertools
import random

import pytest

from log_shipper.config.text.glob_overlap import overlap, path_sets
from log_shipper.config.text.globs import matches, parse


def overlaps(one: str, other: str) -> bool:
    sets = [path_sets([path], recursive=True) for path in (one, other)]
    assert overlap(*sets) == overlap(*reversed(sets))
    return overlap(*sets)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/var/log/app.log", "/var/log/app.log"),
        ("/var/log/app.log", "/var/log/*.log"),
        ("/var/log/a*.log", "/var/log/*p.log"),
        ("/var/log/*.log", "/var/*/app.log"),
        ("/var/**/app.log", "/var/log/app.log"),
        ("/var/**/app.log", "/var/app.log"),
        ("/var/**", "/var/**/x/*.gz"),
        ("/**/b/*", "/a/**/c"),
        ("/var/log/app-[0-9].log", "/var/log/app-?.log"),
        (r"/var/log/\[a\].log", "/var/log/[[]a].log"),
        ("/var/log/app[0-9].log", "/var/log/*[5-7].log"),
        ("/var/log/../log/app.log", "/var/log/app.log"),
    ],
)
def test_globs_that_match_the_same_path_overlap(one: str, other: str) -> None:
    assert overlaps(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/var/log/app.log", "/var/log/web.log"),
        ("/var/log/*.log", "/var/log/*.gz"),
        ("/var/log/*.log", "/srv/*.log"),
        ("/var/log/*.log", "/var/log/nginx/*.log"),
        ("/var/log/app-*.log", "/var/log/web-*.log"),
        ("/var/log/*-app-*.log", "/var/log/web.log"),
        ("/var/log/app-[0-9].log", "/var/log/app-x.log"),
        ("/var/log/app-[^0-9].log", "/var/log/app-5.log"),
        (r"/var/log/\*.log", "/var/log/a.log"),
        ("/var/log/??.log", "/var/log/abc.log"),
        ("/var/**/a.log", "/var/**/b.log"),
        ("/var/**/x/a.log", "/var/y/a.log"),
    ],
)
def test_globs_without_a_path_in_common_do_not_overlap(one: str, other: str) -> None:
    assert not overlaps(one, other)


def test_overlap_agrees_with_what_is_matched(seed: int) -> None:
    dice = random.Random(seed)
    names = ["a", "b", "ab"]
    paths = ["/" + "/".join(path) for count in (1, 2, 3) for path in itertools.product(names, repeat=count)]
    segments = [*names, "*", "a*", "*b", "?", "**"]
    for _ in range(300):
        globs = ["/" + "/".join(dice.choices(segments, k=dice.randrange(1, 4))) for _ in "12"]
        one, other = (parse(glob, recursive=True) for glob in globs)
        if any(matches(one, path) and matches(other, path) for path in paths):
            assert overlaps(*globs), globs
        elif not any("**" in glob for glob in globs):
            assert not overlaps(*globs), globs
