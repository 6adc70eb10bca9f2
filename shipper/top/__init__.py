"""`shipper top`: shows the document of `/status` of a shipper or sink in a terminal.

`document` is the received document, `frame` renders it as lines (a pure function of view and size), with `tables`,
`charts` and `values`; `view` is changed by keys, `watch` queries repeatedly, and `screen` draws with curses.
"""
