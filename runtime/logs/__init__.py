"""Log lines of the shipper and the sink: their formats, a throttle, and the last warnings. Imports nothing of ours."""
