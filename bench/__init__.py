"""The figures of docs/explained/figures*.md, measured again: `script/bench`.

One file:
    data            the input file
    measure         a process: CPU time, memory
    topics          how many records are readable, and when each arrived
    runs            one broker and one directory for all runs, a topic and a directory for each
    contenders      the programs that are measured: the shipper, the floor, and others that the machine has
    throughput      one big file, from the start to the last readable record
    table, chart    median and spread as text, and as a picture
    shapes          readers and processors, `--shapes`
    variants        an option of the shipper both ways: `--delivery`, `--queue`, `--http`

Some lines a second, and none, `--quiet`:
    quiet           the following for all contenders
    follow          files that are written while they are followed
    appends         the process that writes them; the delay of single lines

Many files, `--scale`:
    scale           the following for all contenders, beside its aims
    crowd           very many small files; idle ones
    positions       a registry of very many entries
    beside          a small file that is written while a big one is read

Very many containers, `--churn`:
    churn           inputs for pods that come and go
    pods            these pods, in a process of their own

The sink, `--sink`:
    sink            the sink and its yardsticks (sink_bare), by throughput (sink_process) and delay (sink_delay)
    sink_records    a producer
    sink_soak       an hour at a steady rate, `script/soak-sink`; sink_flat judges its minutes
"""
