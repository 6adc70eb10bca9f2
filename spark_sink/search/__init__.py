"""`spark-sink search`: finds lines in the tables, newest first, without Spark and Java.

    tables      the configured tables, and their data files that may have matching rows, by Delta's log alone
    scan        reads the files, those with the newest rows first; can be cancelled
    newest      yields the hits, newest first
    counts      counts matches by time and by value, mostly without reading files
    reading     a piece of a data file, as Arrow rows with the table's columns
    sealed      DuckDB, without access to files and network, which decides which rows match
    query       the search as SQL; `moments` parses times
    context     the lines around a hit
    follow      the rows of new commits
    output      lines for people, and JSON

It imports nothing that needs pyspark.
"""
