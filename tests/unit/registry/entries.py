"""An entry in which every field has a value of its own."""

import os

from log_shipper.registry.state import FileState

FULL = FileState(
    id="9f3c",
    path=os.fsdecode(b'/logs/\xff "quoted"\n\xc3\xa9.log'),
    device=2049,
    inode=811,
    fingerprint=(1024, "ab" * 16),
    tail_hash="cd" * 16,
    position=2**53 + 1,
    size_seen=2**53 + 7,
    updated=1763717400.123456,
    ttl=3600.5,
    cuts=(10, 2**53),
    ended="truncated",
    continues_in="77aa",
    input="app",
    key="path:/logs/a",
    compressed=4711,
    proof="ef" * 32,
    birth=1763717400123456789,
    modified=1763717401123456789,
    changed=1763717402123456789,
    kind="journald",
    cursor="s=9f;i=1;b=77",
)
