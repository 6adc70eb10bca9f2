"""The extensions of Common Event Format, version 25: full names and types, by key.

Unlisted keys are kept unchanged, as texts. Keys are found in any case.
"""

import ipaddress
import re
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any

from log_shipper.shipper.formats.times import AHEAD, MONTHS, of_datetime

Convert = Callable[[str], Any]

# By type, as `key` or `key:fullName`.
_NAMES = {
    "integer": """
        cnt:baseEventCount deviceDirection dpid:destinationProcessId dpt:destinationPort destinationTranslatedPort
        dvcpid:deviceProcessId fsize:fileSize oldFileSize spid:sourceProcessId spt:sourcePort sourceTranslatedPort type
    """,
    "long": """
        cn1:deviceCustomNumber1 cn2:deviceCustomNumber2 cn3:deviceCustomNumber3 eventId in:bytesIn out:bytesOut
    """,
    "float": """
        cfp1:deviceCustomFloatingPoint1 cfp2:deviceCustomFloatingPoint2 cfp3:deviceCustomFloatingPoint3
        cfp4:deviceCustomFloatingPoint4 dlat:destinationGeoLatitude dlong:destinationGeoLongitude
        slat:sourceGeoLatitude slong:sourceGeoLongitude
    """,
    "ip": """
        agt:agentAddress agentTranslatedAddress c6a1:deviceCustomIPv6Address1 c6a2:deviceCustomIPv6Address2
        c6a3:deviceCustomIPv6Address3 c6a4:deviceCustomIPv6Address4 dst:destinationAddress destinationTranslatedAddress
        dvc:deviceAddress deviceTranslatedAddress src:sourceAddress sourceTranslatedAddress
    """,
    "mac": "amac:agentMacAddress dmac:destinationMacAddress dvcmac:deviceMacAddress smac:sourceMacAddress",
    "time": """
        art:agentReceiptTime deviceCustomDate1 deviceCustomDate2 end:endTime fileCreateTime fileModificationTime
        flexDate1 mrt:managerReceiptTime oldFileCreateTime oldFileModificationTime rt:deviceReceiptTime start:startTime
    """,
    "text": """
        act:deviceAction agentDnsDomain agentNtDomain agentTranslatedZoneExternalID agentTranslatedZoneURI
        agentZoneExternalID agentZoneURI ahost:agentHostName aid:agentId app:applicationProtocol at:agentType
        atz:agentTimeZone av:agentVersion c6a1Label:deviceCustomIPv6Address1Label
        c6a2Label:deviceCustomIPv6Address2Label c6a3Label:deviceCustomIPv6Address3Label
        c6a4Label:deviceCustomIPv6Address4Label cat:deviceEventCategory catdt:categoryDeviceType
        cfp1Label:deviceCustomFloatingPoint1Label cfp2Label:deviceCustomFloatingPoint2Label
        cfp3Label:deviceCustomFloatingPoint3Label cfp4Label:deviceCustomFloatingPoint4Label
        cn1Label:deviceCustomNumber1Label cn2Label:deviceCustomNumber2Label cn3Label:deviceCustomNumber3Label
        cs1:deviceCustomString1 cs1Label:deviceCustomString1Label cs2:deviceCustomString2
        cs2Label:deviceCustomString2Label cs3:deviceCustomString3 cs3Label:deviceCustomString3Label
        cs4:deviceCustomString4 cs4Label:deviceCustomString4Label cs5:deviceCustomString5
        cs5Label:deviceCustomString5Label cs6:deviceCustomString6 cs6Label:deviceCustomString6Label
        customerExternalID customerURI destinationDnsDomain destinationServiceName destinationTranslatedZoneExternalID
        destinationTranslatedZoneURI destinationZoneExternalID destinationZoneURI deviceCustomDate1Label
        deviceCustomDate2Label deviceDnsDomain deviceExternalId deviceFacility deviceInboundInterface deviceNtDomain
        deviceOutboundInterface devicePayloadId deviceProcessName deviceTranslatedZoneExternalID
        deviceTranslatedZoneURI deviceZoneExternalID deviceZoneURI dhost:destinationHostName dntdom:destinationNtDomain
        dpriv:destinationUserPrivileges dproc:destinationProcessName dtz:deviceTimeZone duid:destinationUserId
        duser:destinationUserName dvchost:deviceHostName externalId fileHash fileId filePath filePermission fileType
        flexDate1Label flexString1 flexString1Label flexString2 flexString2Label fname:filename msg:message oldFileHash
        oldFileId oldFileName oldFilePath oldFilePermission oldFileType outcome:eventOutcome proto:transportProtocol
        rawEvent reason request:requestUrl requestClientApplication requestContext requestCookies requestMethod
        shost:sourceHostName sntdom:sourceNtDomain sourceDnsDomain sourceServiceName sourceTranslatedZoneExternalID
        sourceTranslatedZoneURI sourceZoneExternalID sourceZoneURI spriv:sourceUserPrivileges sproc:sourceProcessName
        suid:sourceUserId suser:sourceUserName
    """,
}
_TIME = re.compile(
    r"([A-Z][a-z]{2}) +(\d{1,2})(?: (\d{4}))? (\d{1,2}):(\d{2}):(\d{2})(\.\d{1,9})?(?: (UTC|GMT|Z|[+-]\d{2}:?\d{2}))?",
    re.ASCII,
)
_MAC = re.compile(r"[0-9a-f]{2}([:-]?)(?:[0-9a-f]{2}\1){4,6}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2,3}[0-9a-f]{4}", re.ASCII)
_WHOLE = re.compile(r"[+-]?(?:0x[0-9a-f]{1,16}|[0-9]{1,19})", re.ASCII | re.IGNORECASE)
_REAL = re.compile(
    r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:e[+-]?[0-9]{1,3})?", re.ASCII | re.IGNORECASE
)


def extensions(zone: tzinfo | None, clock: Callable[[], float]) -> dict[str, tuple[str, Convert]]:
    """Return full name and conversion by key in lower case. A conversion raises ValueError. Times without a zone are in
    `zone` (None: this machine's), those without a year near the wall clock."""
    conversions: dict[str, Convert] = {
        "integer": partial(_whole, bits=32),
        "long": partial(_whole, bits=64),
        "float": _real,
        "ip": _address,
        "mac": _mac,
        "time": lambda text: _time(text, zone, clock()),
        "text": str,
    }
    return {
        key.lower(): (name or key, conversions[kind])
        for kind, words in _NAMES.items()
        for key, _, name in (word.partition(":") for word in words.split())
    }


def _whole(text: str, bits: int) -> int:
    if not _WHOLE.fullmatch(text):
        raise ValueError("is not a whole number")
    number = int(text, 16 if "x" in text.lower() else 10)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise ValueError(f"does not fit in {bits} bits")
    return number


def _real(text: str) -> float:
    number = float(text) if _REAL.fullmatch(text) else float("inf")
    if number in (float("inf"), float("-inf")):
        raise ValueError("is not a number")
    return number


def _address(text: str) -> str:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("is not an IP address") from None
    return text


def _mac(text: str) -> str:
    """Return the address in lower case, with colons."""
    if not _MAC.fullmatch(text.lower()):
        raise ValueError("is not a MAC address")
    digits = re.sub(r"[^0-9a-f]", "", text.lower())
    return ":".join(digits[index : index + 2] for index in range(0, len(digits), 2))


def _time(text: str, zone: tzinfo | None, now: float) -> str:
    """Convert milliseconds since 1970, or `Jan 02 2006 15:04:05.000 UTC` with optional year, fraction and zone."""
    try:
        if _WHOLE.fullmatch(text):
            return of_datetime(datetime.fromtimestamp(_whole(text, 64) / 1000, UTC))
        if matched := _TIME.fullmatch(text):
            return of_datetime(_moment(matched, zone, now))
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError("is not a time")


def _moment(matched: re.Match[str], zone: tzinfo | None, now: float) -> datetime:
    """Return the time. Raises ValueError, OverflowError, OSError."""
    month, day, year, hour, minute, second, fraction, offset = matched.groups()
    if offset:
        zone = UTC if offset[0] not in "+-" else datetime.strptime(offset, "%z").tzinfo
    clock = int(hour), int(minute), int(second), int(float(f"0{fraction or ''}") * 1_000_000)
    this_year = datetime.fromtimestamp(now, zone).year
    # Without a year it is the most recent such day, as in RFC 3164: lines of December are read in January.
    for candidate in (int(year),) if year else (this_year, this_year - 1):
        moment = datetime(candidate, MONTHS.index(month) + 1, int(day), *clock, tzinfo=zone)
        if year or moment.timestamp() <= now + AHEAD:
            return moment
    raise ValueError
