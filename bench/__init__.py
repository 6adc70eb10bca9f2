"""Measures the figures of docs/explained/figures*.md: `script/bench`.

One file:
    data            the input file
    measure         a process: CPU time, memory
    topics          number and arrival times of records
    runs            one broker and one directory for all runs; a topic and a directory per run
    contenders      the measured programs: the shipper, the floor, and other installed agents
    throughput      one big file, from process start to the last readable record
    table, chart    median and spread, as text and as a picture
    shapes          readers and processors, `--shapes`
    variants        values of one shipper option compared: `--delivery`, `--queue`, `--http`

Low rates and idle agents, `--quiet`:
    quiet           the following for all contenders
    follow          files that are written while they are followed
    appends         the process that writes them; the delay of single lines

Many files, `--scale`:
    scale           the following for all contenders, with aims
    crowd           many small files; idle files
    positions       a registry with many entries
    beside          a small file that is written while a big one is read

Many containers, `--churn`:
    churn           inputs for starting and ending pods
    pods            these pods, in a separate process

The sink, `--sink`:
    sink            the sink and its baseline (sink_bare): throughput (sink_process) and delay (sink_delay)
    sink_records    a producer
    sink_soak       an hour at a constant rate, `script/soak-sink`; sink_flat evaluates its minutes
"""
