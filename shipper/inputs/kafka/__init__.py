"""Read topics as a member of a consumer group.

Guarantee: each record is sent at least once, under one name, whichever member reads it, and exactly once if the output
commits the offsets in its transactions. Records that Kafka deleted before they were read are counted.

A separate thread (`member`) polls one consumer after the other (`session`, `room`), answers rebalances (`rebalances`,
`starts`, `read_topics`) and commits; the reading thread (`feed`, `readings`) makes batches of the received records
(`reading`). The two share only the `Partition`s.

The positions are in the group only. A partition's ledger is the one of files: the committed offset is the end of the
longest run of delivered batches, so gaps of compaction and transactions need no special case. The id of the topic, and
where a message was ended by time, are committed beside the offset (`offset_metadata`), the latter before the message is
sent. A partition that goes to another member is not read further, and its records in flight are awaited, for
`wait_close`; the other member reads what is not delivered by then again, under the same names. Once it belongs to
another, it `is_lost`: nothing of it is committed any more, and a transaction leaves it out (`output/transactions`).
"""
