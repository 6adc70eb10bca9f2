"""Read the journal of systemd with a `journalctl` child process.

Guarantee: each entry is sent at least once, under one name; after a start reading continues after the last entry with
everything before it acknowledged. Entries that were deleted before they were read, or cannot be read, are counted.

Why a child process, and not libsystemd: the well-kept binding (systemd-python) is compiled at the installation, against
the headers of libsystemd; the library has crashed processes that read while the journal was rotated, which is why
Filebeat runs journalctl since 8.16; it blocks on a slow disk, and holds the interpreter's lock for each field. A
journalctl that crashes or is killed is started again after the last entry, and it uses the second core.

`host` accesses the operating system: `child` starts a journalctl and reads its output without blocking; that output
wakes the loop. `listing` lists the files of a path, and `sequences` has a `journal` for each sequence of numbers among
them, with its own position. `journalctl` restarts it (`arguments` makes its command line; `damaged_entries`: where it
cannot continue), `lines`, `entries` and `conversion` make events of its output, `runs` passes them through the parsers,
`continuity` finds gaps, and `position` tracks acknowledged entries. `feed` has the paths of an input.

The name of an event: the file id is a hash of the input's id, and of the two ids in the entry's cursor, those of its
sequence (`s=`) and of the boot (`b=`); the offset is its sequence number (`i=`). The boot is part of it because
journald may reuse numbers after a power failure. The cursor is passed with `--cursor`, and not with `--after-cursor`:
the first entry is then the last one that was given, and if it is another one, that was deleted.
"""
