"""Kafka's records to rows without Spark: lists of bytes in, tables of Arrow out. Runs in the Python process of a task.

    records ─► decoding (typed, fast) ──────────────► pieces, lines ─► own columns, routes ─► conversion: tables
                  │ refuses                   ▲
                  └─► judging (exact, slow) ──┴─► reason ─► dead letters

The fast way decides nothing alone: whatever it refuses is judged, and what turns out to be good is written again in
plain JSON and decoded like the others. So every value is made in one place.
"""
