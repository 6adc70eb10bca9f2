"""`spark-sink ui`: a page on which people search the tables.

The page (`page/`) asks for all that it shows by GET, and nothing is kept between two requests but open tables. What
takes long is a stream of JSON lines, made by a thread, which ends when the client has left: a query that is replaced
stops reading within half a second. Limits bound each answer; lists and counts say whether they were cut.
"""
