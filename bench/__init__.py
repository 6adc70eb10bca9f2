"""The figures of docs/figures.md, measured again: `script/bench`.

data          the input file          measure    a process: seconds, CPU, memory
topics        how many records are readable, and when each came
runs          one broker and one directory for all runs, a topic and a directory for each
throughput    one big file, from start to the last readable record     follow    one file, written live
speed         both of these for all contenders
contenders    what is measured: the shipper, the floor, and what Debian has    table    median and spread
chart         the picture of these

scale         what follows, for all contenders, beside its aims: `script/bench --scale`
crowd         very many small files          appends    how late single lines are
positions     a registry of very many entries
beside        a small file that is written while a big one is read
"""
