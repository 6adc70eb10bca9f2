from dataclasses import replace
from pathlib import Path

import pytest

from log_shipper.config.shipper.inputs import TakeOverConfig
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import REMOVED, TRUNCATED, FileState
from log_shipper.registry.store import Store
from log_shipper.shipper.source.layers import entries_of, layers_of
from log_shipper.shipper.source.reading.factory import Input
from tests.builders import AGENT, input_config
from tests.crashing_files import CrashingFiles
from tests.fakes import ManualClock

A = FileState("a", "/logs/a.log", 1, 2, input="one")


def an_input(name: str, *paths: str) -> Input:
    return Input(replace(input_config(paths=paths), id=name), AGENT, {}, 1000, ManualClock(), lambda *states: None)


def registrar_with(*states: FileState) -> Registrar:
    store = Store.open(Path("/registry"), CrashingFiles())
    store.write(states)
    return Registrar(store)


def ids(layers: list[list[Input]]) -> list[list[str]]:
    return [[active.id for active in layer] for layer in layers]


def test_inputs_without_a_file_in_common_are_on_one_layer() -> None:
    inputs = [an_input(name, f"/logs/{name}/*.log") for name in ("one", "two", "three")]
    assert ids(layers_of(inputs, {})) == [["one", "two", "three"]]


def test_no_inputs_are_one_layer() -> None:
    assert layers_of([], {}) == [[]]


def test_inputs_that_match_the_same_file_are_on_different_layers() -> None:
    inputs = [
        an_input("one", "/logs/*.log"),
        an_input("two", "/logs/a.log"),
        an_input("three", "/logs/b.log", "/srv/*"),
        an_input("four", "/logs/a*"),
        an_input("five", "/srv/x"),
    ]
    assert ids(layers_of(inputs, {})) == [["one", "five"], ["two", "three"], ["four"]]


def test_inputs_of_containers_share_a_layer_unless_a_path_may_be_in_both() -> None:
    first, second = "0" * 32, "1" * 32
    inputs = [
        an_input("first", f"/logs/*-{first}.log"),
        an_input("second", f"/logs/*-{second}.log", f"/logs/*-{second}.log.1"),
        an_input("first again", f"/logs/web-{first}.log"),
        an_input("any", "/logs/*"),
        an_input("other", f"/other/*-{first}.log"),
        an_input("second again", f"/logs/x/../*{second}.log.1"),
    ]
    expected = [["first", "second", "other"], ["first again", "second again"], ["any"]]
    assert ids(layers_of(inputs, {})) == expected


def test_an_input_stays_on_its_layer_and_the_order_is_that_of_the_configuration() -> None:
    inputs = [an_input("new", "/logs/*.log"), an_input("two", "/logs/a.log"), an_input("one", "/logs/b.log")]
    assert ids(layers_of(inputs, {"one": 0, "two": 1})) == [["one"], ["two"], ["new"]]
    assert ids(layers_of(inputs[1:], {"one": 1, "two": 1})) == [[], ["two", "one"]]


def test_what_has_not_changed_keeps_its_layer_and_what_was_widened_leaves_it() -> None:
    widened, unchanged = an_input("one", "/logs/*.log"), an_input("two", "/logs/b*.log")
    layers = layers_of([widened, unchanged], {"one": 0, "two": 0}, {unchanged})
    assert ids(layers) == [["two"], ["one"]]


def test_an_input_leaves_its_layer_where_another_one_reads_its_new_paths() -> None:
    inputs = [an_input("one", "/logs/*.log"), an_input("two", "/logs/a.log")]
    assert ids(layers_of(inputs, {"one": 0, "two": 0})) == [["one"], ["two"]]


@pytest.mark.parametrize("ended", [None, REMOVED])
def test_entries_belong_to_the_layer_of_their_input(ended: str | None) -> None:
    other = replace(A, id="b", input="two", ended=ended)
    layers = [[an_input("one", "/logs/*")], [an_input("two", "/logs/*")]]
    assert entries_of(layers, registrar_with(A, other)) == [[A], [other]]


@pytest.mark.parametrize(
    ("paths", "layer"), [(("/logs/*", "/logs/*"), 0), (("/srv/*", "/logs/*"), 1), (("/srv/*", "/x/*"), 0)]
)
def test_the_entry_of_an_input_that_is_gone_is_left_to_the_first_layer_that_matches_its_file(
    paths: tuple[str, str], layer: int
) -> None:
    left = replace(A, input="gone")
    layers = [[an_input("one", paths[0])], [an_input("two", paths[1])]]
    assert entries_of(layers, registrar_with(left))[layer] == [left]


def test_an_input_with_another_name_resumes_the_files_that_another_input_reads_too() -> None:
    left = replace(A, id="b", input="gone")
    layers = [[an_input("one", "/logs/*")], [an_input("renamed", "/logs/*")]]
    assert entries_of(layers, registrar_with(A, left)) == [[A], [left]]


@pytest.mark.parametrize("of_ended_first", [True, False])
def test_an_entry_that_has_ended_does_not_keep_that_of_the_same_inode_from_its_layer(of_ended_first: bool) -> None:
    ended, live = replace(A, id="b", input="gone", ended=TRUNCATED), replace(A, id="c", input="gone")
    states = (A, ended, live) if of_ended_first else (A, live, ended)
    layers = [[an_input("one", "/logs/*")], [taking("two", "gone")]]
    (first, second) = entries_of(layers, registrar_with(*states))
    assert first == [A]
    assert {state.id for state in second} == {"b", "c"}


def test_of_several_entries_of_a_file_the_latest_is_left() -> None:
    older, newer = replace(A, updated=1.0, input="gone"), replace(A, id="b", updated=2.0, input="another")
    assert entries_of([[an_input("one", "/logs/*")]], registrar_with(older, newer)) == [[newer]]


def test_the_entry_of_an_input_that_is_gone_is_removed_where_another_input_has_one_of_the_same_file() -> None:
    gone, elsewhere = replace(A, id="b", input="gone"), replace(A, id="c", inode=3, input="gone")
    store = Store.open(Path("/registry"), CrashingFiles())
    store.write((A, gone, elsewhere))
    registrar = Registrar(store)
    assert entries_of([[an_input("one", "/logs/*")]], registrar) == [[A, elsewhere]]
    registrar.close(1.0)
    assert set(store.states) == {"a", "c"}


def taking(name: str, *from_ids: str) -> Input:
    active = an_input(name, "/logs/*.log")
    taken = replace(active.config, take_over=TakeOverConfig(enabled=True, from_ids=from_ids))
    return replace(active, config=taken)


def test_an_input_takes_over_the_entries_of_those_that_it_names() -> None:
    left, other = replace(A, id="b", inode=4, input="gone"), replace(A, id="c", inode=3, input="another")
    layers = [[an_input("one", "/logs/*")], [taking("two", "gone")]]
    assert entries_of(layers, registrar_with(A, left, other)) == [[A, other], [left]]


def test_an_input_that_names_none_takes_over_all_that_match_its_paths() -> None:
    left, elsewhere = replace(A, id="b", input="gone"), replace(A, id="c", inode=3, path="/srv/x", input="gone")
    layers = [[an_input("one", "/logs/*")], [taking("two")]]
    assert entries_of(layers, registrar_with(A, left, elsewhere)) == [[A, elsewhere], [left]]


def test_an_input_does_not_take_over_what_is_configured_or_what_it_has() -> None:
    own, left = replace(A, id="b", input="two"), replace(A, id="c", input="gone")
    store = Store.open(Path("/registry"), CrashingFiles())
    store.write((A, own, left))
    registrar = Registrar(store)
    layers = [[an_input("one", "/logs/*")], [taking("two", "one", "gone")]]
    assert entries_of(layers, registrar) == [[A], [own]]
    registrar.close(1.0)
    assert set(store.states) == {"a", "b"}
