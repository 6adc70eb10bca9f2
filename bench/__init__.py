"""The figures that the README quotes, measured again: `script/bench`.

data          the input file          measure    a process: seconds, CPU, memory
topics        how many records are readable, and when each came
throughput    one big file, from start to the last readable record     follow    one file, written live
contenders    what is measured: the shipper, the floor, and what Debian has    table    median and spread
"""
