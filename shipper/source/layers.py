"""Files that several inputs match: each of these inputs reads them, under file ids of its own.

Within one crawler each file belongs to one input. So inputs whose paths may match the same file are on different
layers, and each layer has a crawler of its own, with the registry entries of its inputs. Usually there is one layer.

Only the globs decide, not what lies under them now, so that no file changes its layer. A file that has two paths, one
of them through a link, is not recognised: of the inputs of a layer the first one reads it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, count

from log_shipper.config.shipper.model import InputConfig
from log_shipper.config.text.glob_overlap import PathSets, overlap
from log_shipper.config.text.globs import matches, parse
from log_shipper.registry.registrar import Registrar
from log_shipper.registry.state import FileState
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch
from log_shipper.shipper.source.base import SourceStatus
from log_shipper.shipper.source.crawler import Crawler
from log_shipper.shipper.source.observation import Observation
from log_shipper.shipper.source.reading.factory import Input

ENDING = 16  # characters

# Makes the crawler of a layer, with the entries that its inputs resume at; the last argument is the number of layers,
# which share the limits of the agent.
MakeCrawler = Callable[[list[Input], Sequence[FileState], int], Crawler]


class LayerChanged(StartError):
    """Raised when an input would have to leave its layer."""

    def __init__(self, input_id: str) -> None:
        super().__init__(
            f"input {input_id!r} has paths now that another input reads, too: that takes effect at the next start "
            "only, so restart the agent"
        )
        self.input_id = input_id


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
        return self.crawlers[0].read(budget) if len(self.crawlers) == 1 else self._read_in_turn(budget)

    def _read_in_turn(self, budget: int) -> Iterator[Batch]:
        self._next = (self._next + 1) % len(self.crawlers)
        for crawler in (*self.crawlers[self._next :], *self.crawlers[: self._next]):
            yield from crawler.read(budget // len(self.crawlers))

    def next_wake(self, *, reading: bool) -> float:
        return min([crawler.next_wake(reading=reading) for crawler in self.crawlers])

    def status(self) -> SourceStatus:
        return SourceStatus.together([crawler.status() for crawler in self.crawlers])

    def observe(self) -> Observation:
        """Return what the monitor reads. Any thread may ask."""
        return Observation.together([crawler.observe() for crawler in self.crawlers.copy()])

    def replace_inputs(self, inputs: list[Input]) -> None:
        """Read these inputs from now on. An input whose configuration has not changed is the same object. Raises
        LayerChanged for one that would have to leave its layer, and with it its entries; nothing is changed then."""
        unchanged = {active for layer in self._layers for active in layer}.intersection(inputs)
        layers = layers_of(inputs, self._layer_of, unchanged)
        for name, number in _numbers(layers).items():
            if self._layer_of.get(name, number) != number:
                raise LayerChanged(name)
        layers += [[] for _ in self.crawlers[len(layers) :]]
        for crawler, before, now in zip(self.crawlers, self._layers, layers, strict=False):
            if now != before:
                crawler.replace_inputs(now)
        self.crawlers += [self._make(layer, (), len(layers)) for layer in layers[len(self.crawlers) :]]
        removed = [active.id for layer in self._layers for active in layer if active.comes_and_goes]
        self._layers = layers
        for input_id in removed:
            del self._layer_of[input_id]
        self._layer_of |= _numbers(layers)

    def read_to_end(self, longest: float) -> bool:
        """As ReadsToEnd has it (base.py)."""
        done = [crawler.read_to_end(longest) for crawler in self.crawlers]  # each begins at its first call
        return all(done)

    def shared(self) -> set[str]:
        """Return the ids of inputs whose files another input reads, too."""
        return {active.id for layer in self._layers[1:] for active in layer}

    def unread(self, input_ids: Collection[str]) -> set[str]:
        """Return those of these inputs of which something is not read to its end, or not acknowledged."""
        return set().union(*(crawler.unread(input_ids) for crawler in self.crawlers))

    def stop(self) -> None:
        for crawler in self.crawlers:
            crawler.stop()


def layers_of(
    inputs: Sequence[Input], layer_of: Mapping[str, int], unchanged: Collection[Input] = ()
) -> list[list[Input]]:
    """Return the inputs of each layer, in the order of the configuration; at least one layer. `layer_of`: by input id,
    the layer to prefer; `unchanged` inputs come first."""
    layers = [_Layer()]
    for added in sorted(inputs, key=lambda known: (known not in unchanged, known.id not in layer_of)):
        paths = added.config.path_sets
        preferred = [layer_of[added.id]] if added.id in layer_of else []
        number = next(
            number
            for number in chain(preferred, count())
            # An input that is as it was has no file in common with those of its layer that are as they were.
            if added in unchanged or number >= len(layers) or not layers[number].overlaps(paths)
        )
        layers += [_Layer() for _ in range(len(layers), number + 1)]
        layers[number].add(added, paths)
    return [[active for active in inputs if active in layer.inputs] for layer in layers]


class _Layer:
    """Knows which paths its inputs match by how these end: of thousands of containers each has an ending of its own."""

    def __init__(self) -> None:
        self.inputs: set[Input] = set()
        self._by_ending: dict[str, list[PathSets]] = {}

    def add(self, added: Input, paths: PathSets) -> None:
        self.inputs.add(added)
        for ending in _endings(paths):
            self._by_ending.setdefault(ending, []).append(paths)

    def overlaps(self, paths: PathSets) -> bool:
        endings = _endings(paths)
        alike = self._by_ending.keys() if "" in endings else {*endings, ""}
        return any(overlap(paths, others) for ending in alike for others in self._by_ending.get(ending, ()))


def _endings(paths: PathSets) -> set[str]:
    """Return the last characters of the paths; "" for one of which fewer are known, which may end in any way."""
    return {pattern.suffix[-ENDING:] if len(pattern.suffix) >= ENDING else "" for pattern in paths}


def entries_of(layers: Sequence[Sequence[Input]], registrar: Registrar) -> list[list[FileState]]:
    """Return the registry entries of each layer. Those of inputs that are not configured any more belong to the first
    layer that takes them over, or else has an input that matches the file, and has no entry of the same file; where
    all of these have one, they are removed."""
    number_of = _numbers(layers)
    entries: list[list[FileState]] = [[] for _ in layers]
    left: list[FileState] = []
    for state in registrar.states.values():
        if state.kind:  # not of a file
            continue
        number = number_of.get(state.input)
        (left if number is None else entries[number]).append(state)
    known = [{_file_of(state) for state in own if state.ended is None} for own in entries]
    for state in sorted(left, key=lambda state: -state.updated):
        wanted = _layers_for(state, layers) if len(layers) > 1 else [0]
        free = [number for number in wanted if state.ended is not None or _file_of(state) not in known[number]]
        if not free:
            registrar.remove(state.id)
            continue
        entries[free[0]].append(state)
        if state.ended is None:
            known[free[0]].add(_file_of(state))
    return entries


def _layers_for(state: FileState, layers: Sequence[Sequence[Input]]) -> list[int]:
    """Return the layers with an input that takes the entry over, then those with one that matches its file; the first
    layer where there are none."""
    taking = [number for number, layer in enumerate(layers) if any(_takes(active.config, state) for active in layer)]
    others = [number for number, layer in enumerate(layers) if any(_matches(active.config, state) for active in layer)]
    return [*taking, *(number for number in others if number not in taking)] or [0]


def _file_of(state: FileState) -> object:
    return state.key or (state.device, state.inode)


def _takes(config: InputConfig, state: FileState) -> bool:
    wanted = config.take_over
    return wanted.enabled and (not wanted.from_ids or state.input in wanted.from_ids) and _matches(config, state)


def _matches(config: InputConfig, state: FileState) -> bool:
    recursive = config.prospector.scanner.recursive_glob
    return any(matches(parse(path, recursive=recursive), state.path) for path in config.paths)


def _numbers(layers: Sequence[Sequence[Input]]) -> dict[str, int]:
    return {active.id: number for number, layer in enumerate(layers) for active in layer}
