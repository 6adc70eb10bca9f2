"""Reading topics as a member of a consumer group.

What it guarantees: each record is sent at least once, under one name, whichever member reads it, and exactly once where
the output commits the offsets in its transactions. Records that Kafka deleted before they were read are counted.

A thread of its own (`member`) polls one consumer after the other (`session`, `room`), answers their rebalances
(`rebalances`, `starts`, `read_topics`) and commits; the reading thread (`feed`, `readings`) makes batches of what it
hands over (`reading`). A `Partition` is all that the two share.

The positions are in the group only. A partition's ledger is the one of files: what is committed is the end of the
longest run of delivered batches, so gaps of compaction and transactions are nothing special. The id of the topic,
and where a message was ended by time, are committed beside the offset (`offset_metadata`), the latter before the
message is given. A partition that goes to another member is given no further, and what is in flight of it is awaited,
for `wait_close`; what is not delivered by then is read again by the other member, under the same names. Once it belongs
to another, it `is_lost`: nothing of it is committed any more, and a transaction leaves it out (`output/transactions`).
"""
