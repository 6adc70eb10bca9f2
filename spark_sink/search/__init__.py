"""`spark-sink search`: finds lines in the tables, newest first, without Spark and Java.

    tables      which a configuration has; their data files, by Delta's log alone, and which may have matching rows
    scan        a pass over them, those with the newest rows first, which can be cancelled
    newest      yields the hits in the order of their time
    counts      how many match, by time and by a value, for which most files are not read
    reading     a piece of a data file, as Arrow's rows with the table's columns
    sealed      DuckDB, which decides which rows match; it can reach no file and no network
    query       what was asked for, as SQL; `moments` reads times
    context     the lines around a hit
    follow      the rows of the commits that come
    output      lines for people, and JSON

It imports nothing that needs pyspark.
"""
