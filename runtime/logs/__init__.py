"""Log lines of the shipper and the sink: their formats, a throttle, and the last warnings.

Outside `runtime`, only `options` imports anything of ours: `config`.
"""
