"""The Kafka output with `delivery: at_least_once`: idempotent, acks=all, a delivery report for every record.

The lane decides about order, retries and rejections (lane.py). Everything here runs on the publishing thread: reports
arrive from within `poll`. librdkafka compresses and sends on its own threads, outside the interpreter lock.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from log_shipper.shipper.clock import Clock
from log_shipper.shipper.errors import StartError
from log_shipper.shipper.event import Batch, Source
from log_shipper.shipper.librdkafka import is_fatal
from log_shipper.shipper.output.base import Deliveries
from log_shipper.shipper.output.kafka import KafkaContext
from log_shipper.shipper.output.kafka_errors import MAY_BE_TIMES, POISON, UNACKNOWLEDGED_AFTER, ErrorReporter
from log_shipper.shipper.output.kafka_records import Producer, Report
from log_shipper.shipper.output.lane import Flight, Lane
from log_shipper.shipper.output.topic_shares import TopicShares

logger = logging.getLogger(__name__)

PARTITIONS_CHECK = 0.05  # seconds until the partitions are checked again
RENEWAL_PATIENCE = 5.0  # seconds that a renewal of certificates waits for acknowledgements
UNACKNOWLEDGED_CHECK = 5.0  # seconds between checks
# Seconds without a delivery and without an error after which the client may be stuck. librdkafka reports a request that
# is not answered after 60 s, and repeats an error after 30.
STALLED_AFTER = 90.0
PROBE_TIMEOUT = 2.0  # seconds
FATAL_ERROR = "after its fatal error"
RENEWED = "after a renewal of certificates"


class UnacknowledgedRecords:
    """Finds records for which librdkafka waits without a report, as for a partition without a leader.

    Reports their files while others, sent much later, are delivered, or while nothing is delivered and no error says
    why. A slow network is neither: it delays all, and delivers some. If not even an error is reported any more, the
    client itself may be stuck: it can lose all its brokers to a metadata response without any (librdkafka issue 5301).
    """

    def __init__(self, errors: ErrorReporter, clock: Clock) -> None:
        self._errors = errors
        self._clock = clock
        self._newest = float("-inf")  # send time of the newest delivered batch
        self._delivered_at = self._heard_at = clock.monotonic()  # times of the last delivery, and of that or an error
        self._due = 0.0

    def delivered(self, flight: Flight) -> None:
        self._newest = max(self._newest, flight.sent)
        self._delivered_at = self._heard_at = self._clock.monotonic()

    def failed(self) -> None:
        """Note an error."""
        self._heard_at = self._clock.monotonic()

    def check(self, lanes: Iterable[Lane]) -> list[Flight]:
        """Report the topics of waiting records, if due, unless an error explains why nothing is delivered. Return those
        for which the client may be stuck, once in `STALLED_AFTER`."""
        now = self._clock.monotonic()
        if now < self._due:
            return []
        self._due = now + UNACKNOWLEDGED_CHECK
        waiting = [flight for lane in lanes if (flight := lane.unreported) is not None]
        is_silent = now - self._delivered_at >= UNACKNOWLEDGED_AFTER
        if not (is_silent and self._errors.failing):
            passed_over = now if is_silent else self._newest
            paths: dict[str, list[str]] = {}
            for flight in waiting:
                if passed_over - flight.sent >= UNACKNOWLEDGED_AFTER:
                    for topic in flight.topics.names:
                        paths.setdefault(topic, []).append(flight.batch.source.path)
            self._errors.report_unacknowledged(paths)
        stalled = [flight for flight in waiting if now - max(self._heard_at, flight.sent) >= STALLED_AFTER]
        if stalled:
            self._heard_at = now
        return stalled


class AtLeastOnce:
    """`make_producer` receives the callback for errors that belong to no record. `shares`: None if all events have one
    topic."""

    def __init__(
        self,
        make_producer: Callable[[Callable[[KafkaError], None]], Producer],
        kafka: KafkaContext,
        deliveries: Deliveries,
        shares: TopicShares | None = None,
    ) -> None:
        self._make_producer = make_producer
        self._kafka = kafka
        self._deliveries = deliveries
        self._shares = shares
        self.errors = kafka.errors
        self._metrics = kafka.metrics
        self._clock = kafka.clock
        self._renew_by: float | None = None  # while a renewal of certificates waits for batches in flight
        self._unacknowledged = UnacknowledgedRecords(kafka.errors, kafka.clock)
        self._lanes: dict[str, Lane] = {}
        self._paused_lanes: dict[str, Lane] = {}
        self._must_replace = ""  # why the producer must be replaced, as it is logged
        self._failed_replacements = 0  # in a row
        self._replace_at = 0.0
        self.in_flight = 0
        self._producer = make_producer(self._on_error)
        # The client puts records of many files into one request. A record that must be refused alone is sent by a
        # separate client, one record at a time; created when first needed.
        self._single: Producer | None = None
        self._single_lane: Lane | None = None  # the lane of its last record

    def publish(self, batch: Batch) -> bool:
        if self._renew_by is not None:
            return False
        lane = self._lanes.get(batch.source.file_id)
        if lane is None:
            lane = self._lanes[batch.source.file_id] = Lane()
        flight = Flight(batch, lane, self._kafka.topics(batch), self._kafka.records.sets_times)
        if self._shares is not None:
            self._shares.add(batch, flight.topics)
        self.in_flight += 1
        if lane.paused:
            lane.waiting.append(flight)
        else:
            self._start(flight)
        return True

    def takes_more(self, source: Source) -> bool:
        return self._shares is None or self._shares.takes_more(source)

    @property
    def awaits_reports(self) -> bool:
        return self._shares is not None and self._shares.awaits_reports

    def poll(self, timeout: float) -> None:
        try:
            self._producer.poll(timeout)
            if self._single is not None:
                self._single.poll(0)
        except KafkaException as fatal:  # raised once by the client, without calling `error_cb`
            self._on_error(fatal.args[0])
        self._use_renewed()
        if self._must_replace and self._clock.monotonic() >= self._replace_at:
            logger.warning("replacing the Kafka producer %s. Unacknowledged events are sent again", self._must_replace)
            self._replace_producer()
        if self._paused_lanes:
            self._resend()
        self._look_for_stall()
        self._metrics.topics_waiting = self.errors.topics_waiting

    def _look_for_stall(self) -> None:
        stalled = self._unacknowledged.check(self._lanes.values())
        topics = {topic for flight in stalled for topic in flight.topics.names}
        if stalled and self._kafka.probe.serves(topics, PROBE_TIMEOUT):
            self._must_replace = (
                f"because it has neither delivered a record nor reported an error for {STALLED_AFTER:.0f} s, although "
                f"all brokers of {', '.join(sorted(topics)[:3])} respond to another client"
            )

    def reach(self, timeout: float) -> bool:
        return self._kafka.probe.reach(timeout)

    def close(self) -> None:
        self._purge(1.0)

    def _purge(self, timeout: float) -> bool:
        """Make all outstanding reports arrive now. Return False if some did not within `timeout`."""
        producers = [self._producer] if self._single is None else [self._producer, self._single]
        for producer in producers:
            producer.purge()
        try:
            return not sum(producer.flush(timeout) for producer in producers)
        except KafkaException:  # as in `poll`: reports may be missing
            return False

    def _start(self, flight: Flight) -> None:
        lane = flight.lane
        if not self._kafka.knows_partitions(flight.topics):
            lane.waiting.appendleft(flight)
            lane.paused, lane.retry_at = True, self._clock.monotonic() + PARTITIONS_CHECK
            self._pause(flight)
            return
        lane.flights.append(flight)
        self._send(flight, flight.sendable, self._producer)

    def _send(self, flight: Flight, indices: list[int] | None, producer: Producer) -> None:
        """Hand the records with these indices (None: all) to the client, with one callback for all of them."""
        flight.left = flight.batch.events if indices is None else len(indices)
        flight.sent = self._clock.monotonic()
        if flight.left:
            refused = self._kafka.send(producer, flight, indices, partial(self._reporter, flight))
            if not refused:
                return
            for index, error in refused:  # as for reports
                flight.left -= 1
                if error.code() in POISON or error.code() == KafkaError._QUEUE_FULL:
                    flight.fail(index, error.code(), error.str())
                else:  # the client knows that the topic does not take it
                    self._failed(flight, index, error, flight.topics.topic_of(index))
            self._pause(flight)
        self._settle(flight)

    def _single_producer(self, lane: Lane) -> Producer | None:
        """Return the client for a single record; None while it is busy or cannot be created."""
        if self._single_lane is not None and not self._single_lane.drained:
            return None  # one at a time: a refusal of two records in one request would not show which is meant
        if self._single is None:
            try:
                self._single = self._make_producer(self._on_error)
            except StartError as error:  # as in `_replace_producer`
                lane.attempts += 1
                delay = self._kafka.backoff.delay(lane.attempts)
                lane.retry_at = self._clock.monotonic() + delay
                logger.error("%s. Retrying in %.0f s", error, delay)
                return None
        self._single_lane = lane
        return self._single

    def _reporter(self, flight: Flight, index: int | None) -> Report:
        """Return the callback for the record with this index, or for all records (None), which then identify
        themselves. It runs once per record, so it does very little."""

        def report(error: KafkaError | None, message: Message) -> None:
            flight.left -= 1
            if error is not None:
                failed = flight.index_of(message) if index is None else index
                self._failed(flight, failed, error, message.topic() or "")
            if not flight.left:
                self._settle(flight)

        return report

    def _failed(self, flight: Flight, index: int, error: KafkaError, topic: str) -> None:
        flight.fail(index, error.code(), error.str())
        self._pause(flight)
        self._note_error(error)
        self.errors.report_failed_record(error, topic, has_times=flight.has_times, is_alone=flight.lane.alone)

    def _pause(self, flight: Flight) -> None:
        self._paused_lanes[flight.batch.source.file_id] = flight.lane

    def _settle(self, flight: Flight) -> None:
        """Finish the flight if all reports have arrived, and schedule the retry if its lane is drained."""
        lane = flight.lane
        if flight.done:
            lane.flights.remove(flight)
            lane.attempts = 0
            self._unacknowledged.delivered(flight)
            self.in_flight -= 1
            if self._shares is not None:
                self._shares.remove(flight.batch, flight.topics)
            if self.errors.any_reported and flight.sendable != []:
                self.errors.report_recovery(flight.topics)
            self._deliveries.delivered(flight.batch, flight.rejected)
            if lane.idle and not lane.paused:
                del self._lanes[flight.batch.source.file_id]
        if lane.paused and lane.drained:
            self._plan_retry(lane)

    def _plan_retry(self, lane: Lane) -> None:
        """Schedule the retry of a lane: immediately and in parts if records may be poison, else after a growing
        delay."""
        times_refused = any(flight.times_refused for flight in lane.flights)
        lane.adapt_part_size()
        codes = {code for flight in lane.flights for code in flight.failed.values()}
        if codes <= POISON or (times_refused and codes <= POISON | MAY_BE_TIMES):
            lane.attempts = 0
            lane.retry_at = 0.0
        else:
            lane.attempts += 1
            lane.retry_at = self._clock.monotonic() + self._kafka.backoff.delay(lane.attempts)

    def _resend(self) -> None:
        now = self._clock.monotonic()
        for file_id, lane in [
            (i, lane) for i, lane in self._paused_lanes.items() if lane.drained and lane.retry_at <= now
        ]:
            flights = lane.next_round()
            producer = self._single_producer(lane) if lane.alone else self._producer
            if producer is None:
                continue
            if not lane.in_parts:
                lane.paused = False
                del self._paused_lanes[file_id]
            self._send_round(lane, flights, producer)
            if lane.idle and not lane.paused:
                self._lanes.pop(file_id, None)

    def _send_round(self, lane: Lane, flights: list[tuple[Flight, list[int]]], producer: Producer) -> None:
        for flight, indices in flights:
            if lane.paused and not lane.in_parts:
                break  # one was refused immediately: later ones must wait again
            for index in indices:
                del flight.failed[index]
            self._metrics.batches_retried += 1
            logger.debug("%s: resending %d records", flight.batch.source.path, len(indices))
            self._send(flight, indices, producer)
        while lane.waiting and not lane.paused:
            self._start(lane.waiting.popleft())

    def _note_error(self, error: KafkaError) -> None:
        self._unacknowledged.failed()
        if is_fatal(error):
            self._must_replace = FATAL_ERROR

    def _on_error(self, error: KafkaError) -> None:
        self._note_error(error)
        self.errors.report(error.code(), error.str())

    def _use_renewed(self) -> None:
        """Replace the producer after a renewal of certificates, once nothing is in flight, so that nothing is sent
        twice. Batches that the broker does not acknowledge in time, perhaps because the old certificate has expired,
        are sent again."""
        if self._renew_by is None and self._kafka.are_renewed():
            self._renew_by = self._clock.monotonic() + RENEWAL_PATIENCE
        if self._renew_by is not None and (not self.in_flight or self._clock.monotonic() >= self._renew_by):
            self._replace_producer()

    def _replace_producer(self) -> None:
        """Replace the producer. Purging fails all outstanding records, which pauses their lanes; they resume with the
        new producer."""
        try:
            producer = self._make_producer(self._on_error)
        except StartError as error:  # for example a certificate during its renewal
            self._must_replace = self._must_replace or RENEWED
            self._renew_by = None  # without a fatal error, the current producer still works
            self._failed_replacements += 1
            delay = self._kafka.backoff.delay(self._failed_replacements)
            self._replace_at = self._clock.monotonic() + delay
            logger.error("%s. Retrying in %.0f s", error, delay)
            return
        if not self._purge(5.0):
            return  # a missing report would pause its lane forever: the next poll retries
        self._producer, self._single = producer, None
        self._must_replace, self._renew_by = "", None
        self._failed_replacements, self._replace_at = 0, 0.0
