"""What to do about an error of the disk, in words for the log."""

import errno

_ADVICE = {
    errno.ENOSPC: "free some space there",
    errno.EDQUOT: "raise the quota of the user that runs the shipper",
    errno.EROFS: "make the file system writable again",
    errno.EACCES: "give the user that runs the shipper the right to write there",
    errno.EPERM: "give the user that runs the shipper the right to write there",
    errno.EIO: "look at the disk: the kernel's log has more about it",
}


def advice_for(error: OSError) -> str:
    return _ADVICE.get(error.errno or 0, "look at this file system")
