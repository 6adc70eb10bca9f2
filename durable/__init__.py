"""The one door to the disk for whatever must survive a crash: what is written, under which name, and by which process.
Imports nothing of ours.

`disk` has the single steps (open, write, fsync, and the directory of a name), `locking` the lock that keeps a second
writer out. What is wrong with a place that no retry mends is `Misplaced`; a disk that refuses is the plain OSError.
"""
