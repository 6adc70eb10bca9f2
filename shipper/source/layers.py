"""Files that several inputs match: each of these inputs reads them, under file ids of its own.

Within one crawler each file belongs to one input. So inputs whose paths may match the same file are on different
layers, and each layer has a crawler of its own, with the registry entries of its inputs. Usually there is one layer.

Only the globs decide, not what lies under them now, so that no file changes its layer. A file that has two paths, one
of them through a link, is not recognised: of the inputs of a layer the first one reads it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count

from config.shipper.model import InputConfig
from config.text.glob_overlap import PathSets, overlap
from config.text.globs import matches, parse
from registry.registrar import Registrar
from registry.state import FileState
from shipper.event import Batch
from shipper.source.base import SourceStatus
from shipper.source.crawler import Crawler
from shipper.source.reading.factory import Input

# Makes the crawler of a layer, with the entries that its inputs resume at; the last argument is the number of layers,
# which share the limits of the agent.
MakeCrawler = Callable[[list[Input], Sequence[FileState], int], Crawler]


class Crawlers:
    """Reads the files of all layers in turn. Used by the reading thread only."""

    def __init__(self, inputs: list[Input], registrar: Registrar, make: MakeCrawler) -> None:
        self._make = make
        self._layers = layers_of(inputs, {})
        entries = entries_of(self._layers, registrar)
        self.crawlers = [make(layer, own, len(self._layers)) for layer, own in zip(self._layers, entries, strict=True)]
        self._layer_of = _numbers(self._layers)  # also of inputs that were removed: their entries are there
        self._next = 0

    @property
    def finished(self) -> bool:
        return all(crawler.finished for crawler in self.crawlers)

    def step(self) -> None:
        for crawler in self.crawlers:
            crawler.step()

    def read(self, budget: int) -> Iterator[Batch]:
        self._next = (self._next + 1) % len(self.crawlers)
        for crawler in (*self.crawlers[self._next :], *self.crawlers[: self._next]):
            yield from crawler.read(budget // len(self.crawlers))

    def next_wake(self, *, reading: bool) -> float:
        return min(crawler.next_wake(reading=reading) for crawler in self.crawlers)

    def status(self) -> SourceStatus:
        return SourceStatus.together([crawler.status() for crawler in self.crawlers])

    def replace_inputs(self, inputs: list[Input]) -> None:
        """Read these inputs from now on. An input whose configuration has not changed is the same object, and stays on
        its layer."""
        layers = layers_of(inputs, self._layer_of)
        layers += [[] for _ in self.crawlers[len(layers) :]]
        for crawler, before, now in zip(self.crawlers, self._layers, layers, strict=False):
            if now != before:
                crawler.replace_inputs(now)
        self.crawlers += [self._make(layer, (), len(layers)) for layer in layers[len(self.crawlers) :]]
        self._layers = layers
        self._layer_of |= _numbers(layers)

    def stop(self) -> None:
        for crawler in self.crawlers:
            crawler.stop()


def layers_of(inputs: Sequence[Input], layer_of: Mapping[str, int]) -> list[list[Input]]:
    """Return the inputs of each layer, in the order of the configuration; at least one layer. `layer_of`: by input id,
    the layer to prefer."""
    layers: list[dict[Input, PathSets]] = [{}]
    for added in sorted(inputs, key=lambda known: known.id not in layer_of):
        paths = added.config.path_sets
        preferred = [layer_of[added.id]] if added.id in layer_of else []
        number = next(
            number
            for number in chain(preferred, count())
            if number >= len(layers) or not any(overlap(paths, others) for others in layers[number].values())
        )
        layers += [{} for _ in range(len(layers), number + 1)]
        layers[number][added] = paths
    return [[active for active in inputs if active in layer] for layer in layers]


def entries_of(layers: Sequence[Sequence[Input]], registrar: Registrar) -> list[list[FileState]]:
    """Return the registry entries of each layer. Those of inputs that are not configured any more belong to the layer
    of an input that takes them over; else to the first layer, which gives them to another input that matches the file.
    Where that layer has an entry of the same file already, they are removed."""
    number_of = _numbers(layers)
    entries: list[list[FileState]] = [[] for _ in layers]
    left: list[FileState] = []
    for state in registrar.states.values():
        number = number_of.get(state.input)
        (left if number is None else entries[number]).append(state)
    known = [{_file_of(state) for state in own if state.ended is None} for own in entries]
    takers = _takers(layers) if left and len(layers) > 1 else []
    for state in left:
        taken = (number for number, takes in takers if takes(state) and _file_of(state) not in known[number])
        number = next(taken, 0)
        if state.ended is None and _file_of(state) in known[number]:
            registrar.remove(state.id)
            continue
        entries[number].append(state)
        if number:
            known[number].add(_file_of(state))
    return entries


def _file_of(state: FileState) -> object:
    return state.key or (state.device, state.inode)


def _takers(layers: Sequence[Sequence[Input]]) -> list[tuple[int, Callable[[FileState], bool]]]:
    """Return the numbers of the layers with an input that takes entries over, each with a test of which ones."""
    return [
        (number, partial(_takes, active.config))
        for number, layer in enumerate(layers)
        for active in layer
        if active.config.take_over.enabled
    ]


def _takes(config: InputConfig, state: FileState) -> bool:
    if config.take_over.from_ids and state.input not in config.take_over.from_ids:
        return False
    recursive = config.prospector.scanner.recursive_glob
    return any(matches(parse(path, recursive=recursive), state.path) for path in config.paths)


def _numbers(layers: Sequence[Sequence[Input]]) -> dict[str, int]:
    return {active.id: number for number, layer in enumerate(layers) for active in layer}
