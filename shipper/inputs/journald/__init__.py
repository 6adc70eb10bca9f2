"""The journal of systemd, read by a `journalctl` that runs as a child process.

What it guarantees: each entry is sent at least once, under one name; after a start reading continues behind the last
entry with all before it acknowledged. Entries that were deleted before they were read, or cannot be read, are counted.

Why a child, and not libsystemd: the well-kept binding (systemd-python) is compiled at the installation, against the
headers of libsystemd; the library has crashed processes that read while the journal was rotated, which is why Filebeat
runs journalctl since 8.16; it blocks on a slow disk, and holds the interpreter's lock for each field. A journalctl that
crashes, or that is killed, is started again after the entry that was given last, and it uses the second core.

`host` is the door to the operating system: `child` starts a journalctl and reads its output without blocking; the loop
is woken by that output. `listing` looks at the files of a path, and `sequences` has a
`journal` for each sequence of numbers among them, with a position of its own. There, `journalctl` starts one again
(`arguments` makes its command line; `obstacle`: where it cannot read on), `lines`, `entries` and `conversion` make
events of what was read, `runs` passes them through the parsers, `continuity` looks for what is
missing, and `position` knows what is acknowledged. `feed` has the paths of an input.

What names an event: the file id is a hash of the input's id, and of the two ids in the entry's cursor, those of its
sequence (`s=`) and of the boot (`b=`); the offset is its sequence number (`i=`). The boot is part of it because
journald may give the same numbers again after a power failure. A cursor is asked for with `--cursor`, and not with
`--after-cursor`: the first entry is then the one that was given last, and if it is another one, that was deleted.
"""
