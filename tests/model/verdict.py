"""What has arrived, held against the lives of the files.

A repeat is allowed only as the same place with the same message. The spans of all messages of a life must tile it, so
that nothing is missing and no byte is in two messages, and each must hold the text that is in its bytes. One life has
one file id, and one file id one life.
"""

import json

from registry.load import read
from shipper.event import Batch
from tests.arrivals import Arrived
from tests.lab import Lab
from tests.model.coverage import Coverage, Told
from tests.model.lives import Life, Lives
from tests.model.readings import Reading


class Wrong(AssertionError):
    """The agent did what it never may."""


class Verdict:
    def __init__(self, lab: Lab, lives: Lives, reading: Reading, header: bytes = b"") -> None:
        self.ids: dict[str, Told] = {}
        self._lab = lab
        self._lives = lives
        self._reading = reading
        self._header = header
        self.killed = False
        self._seen = 0
        self._joined: dict[Life, tuple[int, Life]] = {}  # bytes of its head that are the end of a message, and whose
        self.coverage = Coverage(self.ids, lives, reading, self._joined_to, self._was_altered)

    def take(self) -> bool:
        """Look at what is new in the destination and on its way there; whether there was anything."""
        for life in self._lives.all:
            if life.copied and not life.unknown:
                life.unknown = self._is_unknown(life)
        new = self._lab.records[self._seen :]
        self._seen += len(new)
        for record in new:
            log = json.loads(record)
            place, text = log["log"], log["message"]
            file = place["file"]
            self._arrived(Arrived(file["id"], int(file["inode"]), place["offset"], place["length"], text))
        if self._lab.output is not None:
            for batch in self._lab.output.taken:
                self._handed(batch)
            self._lab.output.taken.clear()
        return bool(new)

    def _is_unknown(self, life: Life) -> bool:
        """Whether nothing of it is acknowledged, so that nothing can be proven of a copy of it (relation.py)."""
        ids = [file_id for file_id, told in self.ids.items() if told.life is life]
        states = dict(read(self._lab.data / "registry"))
        if self._lab.app is not None:
            running = [harvester.state for harvester in self._lab.crawler.running.values()]
            states |= {state.id: state for state in running}
        return not any(file_id in states and states[file_id].position for file_id in ids)

    def _handed(self, batch: Batch) -> None:
        if batch.messages.texts:
            place = (batch.messages.offsets[0], batch.messages.lengths[0], batch.messages.texts[0])
            life = self._life(batch.source.file_id, batch.source.inode, *place)
            life.handed = max(life.handed, min(batch.messages.end, len(life.content)))

    def _arrived(self, each: Arrived) -> None:
        life = self._life(each.file_id, each.inode, each.offset, each.length, each.message)
        told = self.ids[each.file_id]
        if each.offset in told.messages:
            if told.messages[each.offset] != (each.length, each.message) and not self._may_differ(life, each):
                raise Wrong(f"two messages at one place of {life}: {told.messages[each.offset]} and {each}")
            return
        if each.offset < self._joined_to(life):
            if not self._is_parted(life):
                raise Wrong(f"{each} of {life} belongs to the last message of the file before it")
        elif each.offset <= told.last:
            raise Wrong(f"out of order in {life}: {each} after offset {told.last}")
        elif each.offset < told.end:
            raise Wrong(f"{each} overlaps what ends at {told.end} of {life}")
        end = self._own_end(life, each.offset, each.length, each.message)
        assert end is not None, "it is told by that whose it is"
        told.last, told.end = max(told.last, each.offset), max(told.end, end)
        told.ends[each.offset] = end
        told.messages[each.offset] = (each.length, each.message)
        life.arrived = max(life.arrived, told.end)

    def _life(self, file_id: str, inode: int, offset: int, length: int, text: str) -> Life:
        told = self.ids.get(file_id)
        if told and told.messages.get(offset) == (length, text):
            return told.life
        if told:
            choice = [told.life, *self._lives.twins(told.life), *self._equal_to(told, inode)]
        else:
            choice = sorted(self._lives.candidates(inode), key=self._is_named)
        for life in choice:
            if self._fits(life, offset, length, text):
                break
        else:
            of = f"{told.life}, to which this file id belongs" if told else f"any file with inode {inode}"
            raise Wrong(f"{text[:80]!r} is not at offset {offset} of {of} (file id {file_id})")
        if told is None:
            self._name(file_id, life)
        elif life is not told.life:
            self._change(told, life)
        alike = [life, *self._lives.twins(life)]
        if not any(inode in each.inodes for each in alike):
            raise Wrong(f"{text[:80]!r} of {life} came from another file, inode {inode}")
        return life

    def _is_named(self, life: Life) -> bool:
        return any(told.life is life for told in self.ids.values())

    def _equal_to(self, told: Told, inode: int) -> list[Life]:
        """Lives at that inode that hold all that came under this id too: it could have been theirs until now."""
        return [
            life
            for life in self._lives.ever_at(inode)
            if life is not told.life and all(self._fits(life, at, *what) for at, what in told.messages.items())
        ]

    def _change(self, told: Told, life: Life) -> None:
        """As long as there was nothing else of it, it could have been that of a copy, or of a file that began alike."""
        was, told.life = told.life, life
        if life.twin is was or was.twin is life:
            return
        for other in self.ids.values():
            if other is not told and other.life is life:
                other.life = was

    def _copies_of(self, life: Life) -> set[int]:
        return {inode for each in self._lives.all if each.twin is life for inode in each.inodes}

    def _name(self, file_id: str, life: Life) -> None:
        others = [known for known, told in self.ids.items() if told.life is life and not self._was_another(told)]
        if others and life.twin is None and not self._copies_of(life) and not life.unknown:
            raise Wrong(f"two file ids for {life}: {others[0]}, now {file_id}")
        self.ids[file_id] = Told(life)

    def _joined_to(self, life: Life) -> int:
        return self._joined[life][0] if life in self._joined else 0

    def _is_parted(self, life: Life) -> bool:
        """Read again from its start after a kill: the file before it is gone, so nobody knows of that message, or is
        compressed, and no message goes on behind the end of a .gz; or it was a copy of this one that went on there; or
        nothing could be proven of either, so that it is a new file."""
        beyond, before = self._joined[life]
        if any(each is not life and each.content[:beyond] == life.content[:beyond] for each in self._lives.all):
            return True  # or they are the bytes of one that begins alike
        return (
            life.unknown or before.unknown or before.packed or before.owed is not None or bool(self._lives.twins(life))
        )

    def _was_another(self, told: Told) -> bool:
        """Only the header came of it, when another life with that header was at the file: it was an earlier one's."""
        end = max((offset + length for offset, (length, _) in told.messages.items()), default=0)
        if not self._header or end > len(self._header):
            return False
        for life in self._lives.all:
            if life is not told.life and life.inodes & told.life.inodes and life.content.startswith(self._header):
                told.life = life
                return True
        return False

    def _may_differ(self, life: Life, again: Arrived) -> bool:
        """Nobody knows what was sent behind the position that was saved before a kill: bytes that were altered there,
        and have their time, are taken for what they were."""
        return self._was_altered(life) or self._lost_its_end(life, again)

    def _was_altered(self, life: Life) -> bool:
        return self.killed and any(each.altered for each in [life, *self._lives.twins(life)])

    def _lost_its_end(self, life: Life, again: Arrived) -> bool:
        """A message that a rotation had split is read once more, and the file with its last lines is gone, or that with
        its first ones is compressed: no message goes on behind the end of a .gz."""
        length, text = self.ids[again.file_id].messages[again.offset]
        # Or nothing of that file was acknowledged, and it is a copy by now, of which nothing can be proven.
        gone = any(following.owed is not None or following.unknown for following in self._joined)
        return (gone or life.packed) and again.offset + length > len(life.content) and text.startswith(again.message)

    def _fits(self, life: Life, offset: int, length: int, text: str) -> bool:
        return self._own_end(life, offset, length, text) is not None

    def _own_end(self, life: Life, offset: int, length: int, text: str) -> int | None:
        """Where the message ends in the file; None where it is not there. One that a rotation has split has its own
        bytes first, up to where the file ended then, and then the first lines of the next file."""
        content = bytes(life.content)
        if self._reading.text(content[offset : offset + length]) == text:
            return min(offset + length, len(content))
        for end in (len(content), *reversed(life.sizes)):
            own, beyond = content[offset:end], offset + length - end
            joined = [
                following
                for following in (self._lives.all if own and beyond > 0 else ())
                if len(following.content) >= beyond and self._reading.text(own + following.content[:beyond]) == text
            ]
            for following in joined:  # which one of those that begin alike, nobody can tell
                self._joined[following] = beyond, life
            if joined:
                return end
        return None
