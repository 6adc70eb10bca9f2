"""What the encodings of log files are called: the names that Filebeat has for them, which are its own and those that
the WHATWG's Encoding Standard gives to browsers (there `latin1` is windows-1252, `gb2312` gbk and `euc-kr` uhc)."""

# Python's codec -> the names.
OF_CODEC = {
    "utf-8": "utf-8 plain nop utf8 unicode-1-1-utf-8 utf-8-bom",
    "utf-16-le": "utf-16le",
    "utf-16-be": "utf-16be",
    "iso8859-1": "iso8859-1",
    "iso8859-2": "iso8859-2 iso-8859-2 iso_8859-2 iso88592 iso_8859-2:1987 iso-ir-101 latin2 l2 csisolatin2",
    "iso8859-3": "iso8859-3 iso-8859-3 iso_8859-3 iso88593 iso_8859-3:1988 iso-ir-109 latin3 l3 csisolatin3",
    "iso8859-4": "iso8859-4 iso-8859-4 iso_8859-4 iso88594 iso_8859-4:1988 iso-ir-110 latin4 l4 csisolatin4",
    "iso8859-5": "iso8859-5 iso-8859-5 iso_8859-5 iso88595 iso_8859-5:1988 iso-ir-144 cyrillic csisolatincyrillic",
    "iso8859-6": "iso8859-6 iso8859-6e iso8859-6i iso-8859-6 iso-8859-6-e iso-8859-6-i iso_8859-6 iso88596 arabic"
    " iso_8859-6:1987 iso-ir-127 asmo-708 ecma-114 csiso88596e csiso88596i csisolatinarabic",
    "iso8859-7": "iso8859-7 iso-8859-7 iso_8859-7 iso88597 iso_8859-7:1987 iso-ir-126 greek greek8 ecma-118"
    " elot_928 sun_eu_greek csisolatingreek",
    "iso8859-8": "iso8859-8 iso8859-8e iso8859-8i iso-8859-8 iso-8859-8-e iso-8859-8-i iso_8859-8 iso88598 hebrew"
    " iso_8859-8:1988 iso-ir-138 visual logical csiso88598e csiso88598i csisolatinhebrew",
    "iso8859-9": "iso8859-9",
    "iso8859-10": "iso8859-10 iso-8859-10 iso885910 iso-ir-157 latin6 l6 csisolatin6",
    "iso8859-13": "iso8859-13 iso-8859-13 iso885913",
    "iso8859-14": "iso8859-14 iso-8859-14 iso885914",
    "iso8859-15": "iso8859-15 iso-8859-15 iso_8859-15 iso885915 l9 csisolatin9",
    "iso8859-16": "iso8859-16 iso-8859-16",
    "cp437": "cp437",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp855": "cp855",
    "cp858": "cp858",
    "cp860": "cp860",
    "cp862": "cp862",
    "cp863": "cp863",
    "cp865": "cp865",
    "cp866": "cp866 ibm866 866 csibm866",
    "cp037": "ebcdic-037",
    "cp1047": "ebcdic-1047",
    "cp1140": "ebcdic-1040",
    "koi8-r": "koi8r koi8-r koi8_r koi8 koi cskoi8r",
    "koi8-u": "koi8u koi8-u",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "macintosh-cyrillic x-mac-cyrillic x-mac-ukrainian",
    "cp874": "windows-874 windows874 dos-874 tis-620 iso8859-11 iso-8859-11 iso885911",
    "cp1250": "windows-1250 windows1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 windows1251 cp1251 x-cp1251",
    "cp1252": "windows-1252 windows1252 cp1252 x-cp1252 latin1 l1 ascii us-ascii ansi_x3.4-1968 iso-8859-1 iso_8859-1"
    " iso88591 iso_8859-1:1987 iso-ir-100 cp819 ibm819 csisolatin1",
    "cp1253": "windows-1253 windows1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 windows1254 cp1254 x-cp1254 latin5 l5 iso-8859-9 iso_8859-9 iso88599 iso_8859-9:1989"
    " iso-ir-148 csisolatin5",
    "cp1255": "windows-1255 windows1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 windows1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 windows1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 windows1258 cp1258 x-cp1258",
    "x-user-defined": "x-user-defined",
    # gb18030 holds gbk, and what a browser calls gbk it reads as gb18030.
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 chinese iso-ir-58 csgb2312 csiso58gb231280",
    "hz": "hz-gb-2312",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5 csbig5",
    "euc-jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022-jp-ext": "iso-2022-jp csiso2022jp",
    "cp932": "shift-jis shift_jis sjis x-sjis ms_kanji windows-31j csshiftjis",
    "cp949": "euc-kr windows-949 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 iso-ir-149 cseuckr"
    " csksc56011987",
}

# A byte order mark at the start of the file decides; what is meant without one.
MARKED = {"utf-16": "utf-16-le", "utf-16le-bom": "utf-16-le", "utf-16be-bom": "utf-16-be", "utf-16-bom": None}

# Real names, of encodings in which Filebeat makes one U+FFFD of everything.
USELESS = ("iso-2022-kr", "csiso2022kr", "iso-2022-cn", "iso-2022-cn-ext", "replacement")
