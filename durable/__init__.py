"""The one door to the disk for whatever must survive a crash. Imports nothing of ours.

`disk` has the single steps (open, write, fsync, rename, the directory of a name), `locking` the lock that keeps a
second writer out. A path that leads to the wrong kind of thing, which no retry mends, raises `Misplaced`; a disk that
refuses a write raises a plain OSError.
"""
