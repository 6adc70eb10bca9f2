"""The options of a client of Kafka that the shipper and the sink share."""
