"""Log lines of the shipper and of the sink: their formats, a throttle, and the last warnings. Imports nothing of ours.

Both use the standard library's `logging`; a line of JSON has the names of Elastic Common Schema (ECS).
"""
