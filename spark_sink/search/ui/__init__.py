"""`spark-sink ui`: a web page to search the tables.

The page (`page/`) gets all data by GET; between requests only open tables are kept. Slow answers are streams of JSON
lines from a thread, which stops when the client disconnects: a replaced query stops reading within half a second. Every
answer is bounded; lists and counts say whether they were cut.
"""
