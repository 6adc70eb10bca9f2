"""`shipper top`: the document of `/status` in a terminal, of a shipper or of the sink.

`document` is what was received, `frame` makes lines of it (a pure function of view and size), with `tables`, `charts`
and `values`; `view` is what the keys change, `watch` asks again and again, and `screen` draws by curses.
"""
