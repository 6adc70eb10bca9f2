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
    kills           repeated lines after a kill and a restart, `--kills`

Other inputs, `--inputs`:
    inputs          the following for each input
    input_senders   senders, in separate processes
    input_agents    an agent that writes its events to a pipe
    outage          all inputs during an outage of the broker, `--outage`; outage_senders has their senders

Low rates and idle agents, `--quiet`:
    quiet           the following for all contenders
    follow          files that are written while they are followed
    appends         the process that writes them; the delay of single lines

Many files, `--scale`:
    scale           the following for all contenders, with aims
    crowd           many small files; idle files
    positions       a registry with many entries
    beside          a small file that is written while a big one is read
    many            many or short-lived files, `--many`

Many containers, `--churn`:
    churn           inputs for starting and ending pods
    pods            these pods, in a separate process

The sink, `--sink`:
    sink            the sink and its baseline (sink_bare): throughput (sink_process) and delay (sink_delay)
    sink_deltalake  another baseline, without Spark
    sink_rows       the conversion of records to rows alone
    sink_records    a producer
    sink_month      a month of batches and maintenance in minutes, `--month`
    sink_search     `spark-sink search` in a day of rows, `--search`; sink_ui sends a request of the page
    sink_soak       an hour at a constant rate, `script/soak-sink`; sink_flat evaluates its minutes
"""
