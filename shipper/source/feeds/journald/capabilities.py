"""The names of a process's capabilities (capabilities(7)), as the kernel numbers them."""

_NAMES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
]
_DIGITS = frozenset("0123456789abcdefABCDEF")


def names(mask: str) -> list[str]:
    """Return the names of a mask in hexadecimal digits; none if it is no such mask. One without a name is CAP_41."""
    if not mask or len(mask) > 16 or not _DIGITS.issuperset(mask):
        return []
    bits = int(mask, 16)
    return [
        f"CAP_{_NAMES[number] if number < len(_NAMES) else number}"
        for number in range(bits.bit_length())
        if bits >> number & 1
    ]
