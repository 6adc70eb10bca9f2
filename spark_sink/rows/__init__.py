"""Converts Kafka records to rows without Spark: lists of bytes in, Arrow tables out. Runs in a task's Python process.

    records ─► decoding (typed, fast) ──────────────► pieces, lines ─► own columns, routes ─► conversion: tables
                  │ refuses                   ▲
                  └─► judging (exact, slow) ──┴─► reason ─► dead letters

The fast decoder never decides that a record is bad: records that it refuses are judged, and good ones are rewritten as
plain JSON and decoded like the others. So every value is made in one place.
"""
