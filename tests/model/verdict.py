"""Compares what has arrived with the lives of the files.

A repeat is allowed only as the same place with the same message. The spans of all messages of a life must tile it, so
that nothing is missing and no byte is in two messages, and each must hold the text that is in its bytes. One life has
one file id, and one file id one life.
"""

import json
from collections.abc import Iterator, Mapping

from log_shipper.registry.load import read
from log_shipper.shipper.event import Batch
from tests.arrivals import Arrived
from tests.lab import Lab
from tests.model.coverage import Coverage, Received
from tests.model.lives import Life, Lives
from tests.model.readings import Reading


class Wrong(AssertionError):
    """The agent did what it never may."""


class Verdict:
    def __init__(self, lab: Lab, lives: Lives, reading: Reading, header: bytes = b"") -> None:
        self.ids: dict[str, Received] = {}
        self._lab = lab
        self._lives = lives
        self._reading = reading
        self._header = header
        self._seen = 0
        # How many bytes of its head belong to a message that began before it, and in which lives the rest of that is.
        self._continuations: dict[Life, tuple[int, list[Life]]] = {}
        self.coverage = Coverage(
            self.ids,
            lives,
            reading,
            self.continued_bytes,
            self._was_altered,
            lambda: "read_until_eof" in lab.input,
        )

    def take(self) -> bool:
        """Judge what is new at the destination and on its way there; return True if anything has arrived."""
        if copied := [life for life in self._lives.all if life.copied and not life.unknown]:
            positions = self._positions()
            for life in copied:
                life.unknown = self._is_unknown(life, positions)
        new = self._lab.records[self._seen :]
        self._seen += len(new)
        for record in new:
            log = json.loads(record)
            place, text = log["log"], log["message"]
            file = place["file"]
            self._judge(Arrived(file["id"], int(file["inode"]), place["offset"], place["length"], text))
        if self._lab.output is not None:
            for batch in self._lab.output.taken:
                self._note_handed(batch)
            self._lab.output.taken.clear()
        return bool(new)

    def _positions(self) -> dict[str, int]:
        """Return how far each file id is acknowledged."""
        states = dict(read(self._lab.data / "registry"))
        if self._lab.app is not None:
            states |= {harvester.state.id: harvester.state for harvester in self._lab.crawler.running.values()}
        return {file_id: state.position for file_id, state in states.items()}

    def _is_unknown(self, life: Life, positions: Mapping[str, int]) -> bool:
        """Return True if nothing of it is acknowledged, so that nothing can be proven of a copy of it (relation.py)."""
        return not any(received.life is life and positions.get(file_id) for file_id, received in self.ids.items())

    def _note_handed(self, batch: Batch) -> None:
        """All messages decide which life it is: a file that was rewritten in place may begin as it did before."""
        messages = batch.messages
        for place in zip(messages.offsets, messages.lengths, messages.texts, strict=True):
            life = self._life(batch.source.file_id, batch.source.inode, *place)
        if messages.texts:
            life.handed = max(life.handed, min(messages.end, len(life.content)))

    def _judge(self, event: Arrived) -> None:
        life = self._life(event.file_id, event.inode, event.offset, event.length, event.message)
        received = self.ids[event.file_id]
        if event.offset in received.messages:
            if received.messages[event.offset] != (event.length, event.message) and not self._may_differ(life, event):
                raise Wrong(f"two messages at one place of {life}: {received.messages[event.offset]} and {event}")
            return
        if event.offset < self.continued_bytes(life):
            if not self._is_split(life):
                raise Wrong(f"{event} of {life} belongs to the last message of the file before it")
        elif self._was_altered(life) or self._was_dropped(life, event.offset):
            pass  # as in _may_differ: messages may end elsewhere behind the saved position
        elif event.offset <= received.last:
            raise Wrong(f"out of order in {life}: {event} after offset {received.last}")
        elif event.offset < received.end:
            raise Wrong(f"{event} overlaps what ends at {received.end} of {life}")
        end = self._own_end(life, event.offset, event.length, event.message)
        assert end is not None, "the life was found by it"
        received.last, received.end = max(received.last, event.offset), max(received.end, end)
        received.ends[event.offset] = end
        received.messages[event.offset] = (event.length, event.message)
        life.arrived = max(life.arrived, received.end)

    def _life(self, file_id: str, inode: int, offset: int, length: int, text: str) -> Life:
        received = self.ids.get(file_id)
        if received and received.messages.get(offset) == (length, text):
            return received.life
        named = received and self._lives_of(received, inode)
        for life in named or sorted(self._lives.candidates(inode), key=self._is_named):
            if self._fits(life, offset, length, text):
                break
        else:
            of = f"{received.life}, to which this file id belongs" if received else f"any file with inode {inode}"
            raise Wrong(f"{text[:80]!r} is not at offset {offset} of {of} (file id {file_id})")
        if received is None:
            self._name(file_id, life)
        elif life is not received.life:
            self._change(received, life)
        alike = [life, *self._lives.twins(life)]
        if not any(inode in twin.inodes for twin in alike) and not self._is_put_back(
            life, inode, (offset, length, text)
        ):
            raise Wrong(f"{text[:80]!r} of {life} came from another file, inode {inode}")
        return life

    def _is_put_back(self, life: Life, inode: int, place: tuple[int, int, str]) -> bool:
        """Return True if the file with that inode began as this life, and with its time: an agent that has not seen
        more of the life takes one for the other."""
        for other in self._lives.of_inode(inode):
            if other.restores is life and any(self._fits(now, *place) for now in self._lives.of_inode(inode)):
                other.twin = life
                return True
        return False

    def _is_named(self, life: Life) -> bool:
        return any(received.life is life for received in self.ids.values())

    def _lives_of(self, received: Received, inode: int) -> Iterator[Life]:
        """Yield the lives that the id may have been given to so far: its own, copies, and those of that inode that
        contain all that came under it."""
        yield received.life
        yield from sorted(self._lives.twins(received.life), key=lambda twin: inode not in twin.inodes)
        for life in self._lives.of_inode(inode):
            if all(self._fits(life, offset, *what) for offset, what in received.messages.items()):
                yield life

    def _change(self, received: Received, life: Life) -> None:
        """Give the id to another life: so far it may also have been that of a copy, or of one that begins alike."""
        was, received.life = received.life, life
        if was.restores is life:  # the agent has taken one for the other, as in `_is_put_back`
            was.twin = life
        if life.twin is was or was.twin is life:
            return
        for other in self.ids.values():
            if other is not received and other.life is life:
                other.life = was

    def _copies_of(self, life: Life) -> set[int]:
        return {inode for copy in self._lives.all if copy.twin is life for inode in copy.inodes}

    def _name(self, file_id: str, life: Life) -> None:
        others = [
            known for known, received in self.ids.items() if received.life is life and not self._was_another(received)
        ]
        if others and life.twin is None and not self._copies_of(life) and not life.unknown:
            raise Wrong(f"two file ids for {life}: {others[0]}, now {file_id}")
        self.ids[file_id] = Received(life)

    def continued_bytes(self, life: Life) -> int:
        return self._continuations[life][0] if life in self._continuations else 0

    def _is_split(self, life: Life) -> bool:
        """Return True if the life may be read from its start after a kill, without the message that continues in it.

        One of the files before it that have the rest is gone, so that the agent cannot read that message again; or the
        message continued in a copy of this file; or nothing could be proven of one of them, so that this is a new file;
        or this file waited for its turn longer than the message was waited for, or had left the paths.
        """
        beyond, before = self._continuations[life]
        if (self._lab.input.get("harvester_limit") or life.missed) and any(other.was_killed for other in before):
            return True
        if any(other is not life and other.content[:beyond] == life.content[:beyond] for other in self._lives.all):
            return True  # or these are the bytes of another life with the same first bytes
        unreadable = any(other.unknown or other.owed is not None for other in before)
        return unreadable or life.unknown or bool(self._lives.twins(life))

    def _was_dropped(self, life: Life, offset: int) -> bool:
        """Return True if the line may have been the end of a message that a processor dropped: after a kill, and
        without the file in which that began, it is a message of its own."""
        begun = life.follows
        is_gone = begun is not None and begun.owed is not None and begun.was_killed
        in_head = offset < len(self._reading.head(bytes(life.content)))
        return is_gone and in_head and self._reading.dropped is not None

    def _was_another(self, received: Received) -> bool:
        """Return True if only the header came under this id, and an earlier life of the file had the same header."""
        end = max((offset + length for offset, (length, _) in received.messages.items()), default=0)
        if not self._header or end > len(self._header):
            return False
        for life in self._lives.all:
            if (
                life is not received.life
                and life.inodes & received.life.inodes
                and life.content.startswith(self._header)
            ):
                received.life = life
                return True
        return False

    def _may_differ(self, life: Life, again: Arrived) -> bool:
        """Return True if another message at the same offset is allowed.

        After a kill the agent does not know what was sent behind the saved position: bytes that were altered there
        without a change of the file's time are taken for the old ones.
        """
        return self._was_altered(life) or self._lost_its_continuation(again)

    def _was_altered(self, life: Life) -> bool:
        twins = [life, *self._lives.twins(life)]
        return any(twin.altered for twin in twins) and any(twin.was_killed for twin in twins)

    def _lost_its_continuation(self, again: Arrived) -> bool:
        """Return True if the message was split by a rotation and can be read again only in part.

        The file with its last lines is deleted. Or nothing of that file was acknowledged, and it is a copy by now, of
        which nothing can be proven.
        """
        received = self.ids[again.file_id]
        length, text = received.messages[again.offset]
        unprovable = any(following.owed is not None or following.unknown for following in self._continuations)
        was_split = again.offset + length > received.ends[again.offset]
        return unprovable and was_split and text.startswith(again.message)

    def _fits(self, life: Life, offset: int, length: int, text: str) -> bool:
        return self._own_end(life, offset, length, text) is not None

    def _own_end(self, life: Life, offset: int, length: int, text: str) -> int | None:
        """Return where the message ends in the file, None if it is not in the file.

        A message that a rotation has split consists of the last bytes of this file, up to where it ended then, and of
        the first lines of the next file.
        """
        content = bytes(life.content)
        if self._reading.text(content[offset : offset + length]) == text:
            return min(offset + length, len(content))
        for end in (len(content), *reversed(life.sizes)):
            own, beyond = content[offset:end], offset + length - end
            if own and beyond > 0 and (parts := self._parts([life], own, beyond, text)):
                self._continuations |= parts
                return end
        return None

    def _parts(self, lives: list[Life], own: bytes, beyond: int, text: str) -> dict[Life, tuple[int, list[Life]]]:
        """Return the lives in which a message continues, how many bytes of each belong to it, and the lives before that
        one; empty if it is not there. Several may begin with the same bytes. `own` is what is known of it, from
        `lives`, `beyond`: how many bytes follow."""
        parts: dict[Life, tuple[int, list[Life]]] = {}
        for following in self._followers(lives):
            content = bytes(following.content)
            if len(content) >= beyond:
                if self._reading.text(own + content[:beyond]) == text:
                    parts[following] = (beyond, lives)
            elif further := self._parts([*lives, following], own + content, beyond - len(content), text):
                parts |= {following: (len(content), lives), **further}
        return parts

    def _followers(self, lives: list[Life]) -> Iterator[Life]:
        """Yield the lives written next at the place of the last of these, and after those unknown to the agent.

        Unknown lives were missing when it looked, had another log's name, or are in a copy that cannot be recognised;
        of a rotated file with a hard link, the agent may have seen only the link; names alone place one that was
        touched or made again. Any other life is not the continuation: a message joined
        with a line of another file must be noticed.
        """
        last = lives[-1]
        roots = [life.root for life in (last, last.replaces) if life is not None]
        for following in self._lives.all:
            before = [following.follows, following.replaces and following.replaces.follows]
            if following.truncated_in_place:
                before.append(following.twin)  # as after copytruncate, though it was written again as before
            is_between = len(lives) == 1 and (last.is_anew or following.is_anew)
            is_next = is_between or any(life is not None and life.root in roots for life in before)
            if is_next and following not in lives:
                yield following
                if following.unknown or following.missed or lives[0].is_linked:
                    yield from self._followers([*lives, following])
