"""Which class does the work of which configuration: what adds facts about the host, the process, the container."""

from shipper.processor.base import Table

TABLE: Table = {}
