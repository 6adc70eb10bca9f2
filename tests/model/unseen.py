"""What was done to files since the agent last looked at them."""

from tests.model.lives import Life


class Unseen:
    def __init__(self) -> None:
        self.copies: set[int] = set()  # inodes
        self.moved: set[int] = set()  # inodes of files that were renamed over others
        # Lives that were truncated since the agent looked, and since it certainly saved that, with their inodes.
        self._cut: list[tuple[Life, int]] = []
        self._cut_unsaved: list[tuple[Life, int]] = []

    def copied(self, inode: int) -> None:
        self.copies.add(inode)

    def renamed(self, inode: int) -> None:
        self.moved.add(inode)

    def cut(self, life: Life, inode: int) -> None:
        self._cut.append((life, inode))
        self._cut_unsaved.append((life, inode))

    def cuts(self, *, is_running: bool) -> list[tuple[Life, int]]:
        """Forget what a stopped agent did not save."""
        return self._cut if is_running else self._cut_unsaved

    def agent_looked(self, *, has_room: bool) -> None:
        """While its queue is full, the agent may not have looked into the files that it has open."""
        if has_room:
            self._cut.clear()
        self.copies.clear()
        self.moved.clear()

    def agent_was_killed(self) -> None:
        """Forget what was not saved."""
        self._cut = self._cut_unsaved[:]

    def agent_saved(self) -> None:
        self._cut_unsaved = self._cut[:]
