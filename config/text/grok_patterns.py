"""The built-in patterns of `grok`, by the names that Logstash and Elasticsearch use.

They are written for RE2: without look-around and atomic groups, which limit backtracking in those engines and are not
needed in RE2. Fields have the names of Elastic Common Schema, as with `ecs_compatibility: v8` there.

They are short: expressions of more than about 500 RE2 instructions match three times slower, and counted repetitions
are expanded.
"""

_TEXT = {
    "WORD": r"\b\w+\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "NOTQUOTE": r'[^"]*',
    "QUOTEDSTRING": r"""(?:"(?:\\.|[^\\"])*"|'(?:\\.|[^\\'])*'|`(?:\\.|[^\\`])*`)""",
    "QS": "%{QUOTEDSTRING}",
    "USERNAME": r"[a-zA-Z0-9._-]+",
    "USER": "%{USERNAME}",
    "UUID": r"[A-Fa-f0-9]{8}-(?:[A-Fa-f0-9]{4}-){3}[A-Fa-f0-9]{12}",
    "LOGLEVEL": r"(?i:alert|trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe"
    r"|emerg(?:ency)?|fine|finer|finest|verbose)",
}
_NUMBERS = {
    "INT": r"[+-]?[0-9]+",
    "BASE10NUM": r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)",
    "NUMBER": "%{BASE10NUM}",
    "BASE16NUM": r"[+-]?(?:0x)?[0-9A-Fa-f]+",
    "BASE16FLOAT": r"\b[+-]?(?:0x)?(?:[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?|\.[0-9A-Fa-f]+)\b",
    "POSINT": r"\b[1-9][0-9]*\b",
    "NONNEGINT": r"\b[0-9]+\b",
}
_NETWORK = {
    "MAC": "(?:%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC})",
    "CISCOMAC": r"(?:[A-Fa-f0-9]{4}\.){2}[A-Fa-f0-9]{4}",
    "WINDOWSMAC": r"(?:[A-Fa-f0-9]{2}-){5}[A-Fa-f0-9]{2}",
    "COMMONMAC": r"(?:[A-Fa-f0-9]{2}:){5}[A-Fa-f0-9]{2}",
    "IPV4": r"\b(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])\b",
    # Matches anything of this form, valid or not: see above.
    "IPV6": r"[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}(?:\.[0-9]{1,3}){0,3}(?:%[0-9A-Za-z._-]+)?",
    "IP": "(?:%{IPV6}|%{IPV4})",
    "HOSTNAME": r"\b[0-9A-Za-z][0-9A-Za-z_-]*(?:\.[0-9A-Za-z][0-9A-Za-z_-]*)*\.?",
    "HOST": "%{HOSTNAME}",
    "IPORHOST": "(?:%{IP}|%{HOSTNAME})",
    "HOSTPORT": "%{IPORHOST}:%{POSINT}",
    "EMAILLOCALPART": r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-zA-Z0-9!#$%&'*+/=?^_`{|}~-]+)*",
    "EMAILADDRESS": "%{EMAILLOCALPART}@%{HOSTNAME}",
    "URN": r"urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:[0-9A-Za-z()+,.:=@;$_!*'/?#%-]+",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]+",
    "URIHOST": "%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"(?:/[A-Za-z0-9$.+!*'(){},~:;=@#%&_-]*)+",
    "URIQUERY": r"[A-Za-z0-9$.+!*'|(){},~@#%&/=:;_?\[\]<>-]*",
    "URIPARAM": r"\?%{URIQUERY}",
    "URIPATHPARAM": r"%{URIPATH}(?:\?%{URIQUERY})?",
    "URI": r"%{URIPROTO}://(?:%{USER}(?::[^@\s]*)?@)?(?:%{URIHOST})?(?:%{URIPATH}(?:\?%{URIQUERY})?)?",
}
_PATHS = {
    "PATH": "(?:%{UNIXPATH}|%{WINPATH})",
    "UNIXPATH": r"(?:/[\w%!$@:.,+~-]*)+",
    "TTY": r"/dev/(?:pts|tty(?:[pq])?)(?:\w+)?/?[0-9]+",
    "WINPATH": r"(?:[A-Za-z]+:|\\)(?:\\[^\\?*]*)+",
}
_TIMES = {
    "MONTH": r"\b(?:[Jj]an(?:uary)?|[Ff]eb(?:ruary)?|[Mm]ar(?:ch)?|[Aa]pr(?:il)?|[Mm]ay|[Jj]une?|[Jj]uly?"
    r"|[Aa]ug(?:ust)?|[Ss]ep(?:tember)?|[Oo]ct(?:ober)?|[Nn]ov(?:ember)?|[Dd]ec(?:ember)?)\b",
    "MONTHNUM": r"(?:0?[1-9]|1[0-2])",
    "MONTHNUM2": r"(?:0[1-9]|1[0-2])",
    "MONTHDAY": r"(?:0[1-9]|[12][0-9]|3[01]|[1-9])",
    "DAY": r"(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|Sun(?:day)?)",
    "YEAR": r"(?:[0-9]{2}){1,2}",
    "HOUR": r"(?:2[0-3]|[01]?[0-9])",
    "MINUTE": r"[0-5][0-9]",
    "SECOND": r"(?:[0-5]?[0-9]|60)(?:[:.,][0-9]+)?",
    "TIME": "%{HOUR}:%{MINUTE}(?::%{SECOND})?",
    "DATE_US": "%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}",
    "DATE_EU": "%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}",
    "DATE": "(?:%{DATE_US}|%{DATE_EU})",
    "ISO8601_TIMEZONE": "(?:Z|[+-]%{HOUR}(?::?%{MINUTE})?)",
    "ISO8601_SECOND": "%{SECOND}",
    "TIMESTAMP_ISO8601": "%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?%{ISO8601_TIMEZONE}?",
    "DATESTAMP": "%{DATE}[- ]%{TIME}",
    "TZ": r"(?:[APMCE][SD]T|UTC|GMT|CES?T)",
    "DATESTAMP_RFC822": "%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}",
    "DATESTAMP_RFC2822": "%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}",
    "DATESTAMP_OTHER": "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}",
    "DATESTAMP_EVENTLOG": "%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}",
    "SYSLOGTIMESTAMP": "%{MONTH} +%{MONTHDAY} %{TIME}",
    "HTTPDATE": "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}",
    "HTTPDERROR_DATE": "%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}",
    "HAPROXYDATE": "%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HOUR}:%{MINUTE}:%{SECOND}",
    "REDISTIMESTAMP": "%{MONTHDAY} %{MONTH} %{TIME}",
    "TOMCAT_DATESTAMP": "%{MONTHDAY}-%{MONTH}-%{YEAR} %{TIME}",
}
_SYSLOG = {
    "PROG": r"[\x21-\x5a\x5c\x5e-\x7e]+",
    "SYSLOGPROG": r"%{PROG:process.name}(?:\[%{POSINT:process.pid:int}\])?",
    "SYSLOGHOST": "%{IPORHOST}",
    "SYSLOGFACILITY": r"<%{NONNEGINT:log.syslog.facility.code:int}\.%{NONNEGINT:log.syslog.priority:int}>",
    "SYSLOGBASE": r"%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:host.hostname} %{SYSLOGPROG}:",
    "SYSLOGLINE": "%{SYSLOGBASE} %{GREEDYDATA:message}",
    "SYSLOG5424PRINTASCII": r"[!-~]+",
    "SYSLOG5424PRI": r"<%{NONNEGINT:log.syslog.priority:int}>",
    "SYSLOG5424SD": r"(?:\[%{DATA}\])+",
    "SYSLOG5424BASE": r"%{SYSLOG5424PRI}%{NONNEGINT:system.syslog.version} +"
    r"(?:-|%{TIMESTAMP_ISO8601:timestamp}) +(?:-|%{IPORHOST:host.hostname}) +"
    r"(?:-|%{SYSLOG5424PRINTASCII:process.name}) +(?:-|%{POSINT:process.pid:int}) +"
    r"(?:-|%{SYSLOG5424PRINTASCII:event.code}) +(?:-|%{SYSLOG5424SD:system.syslog.structured_data})?",
    "SYSLOG5424LINE": "%{SYSLOG5424BASE} +%{GREEDYDATA:message}",
}
_SERVERS = {
    "HTTPDUSER": "%{USER}(?:@%{HOSTNAME})?",
    "HTTPD_COMMONLOG": r"%{IPORHOST:source.address} (?:-|%{HTTPDUSER:apache.access.user.identity}) "
    r"(?:-|%{HTTPDUSER:user.name}) \[%{HTTPDATE:timestamp}\] "
    r'"(?:%{WORD:http.request.method} %{NOTSPACE:url.original}(?: HTTP/%{NUMBER:http.version})?|%{NOTQUOTE})" '
    r"(?:-|%{INT:http.response.status_code:int}) (?:-|%{INT:http.response.body.bytes:int})",
    "HTTPD_COMBINEDLOG": r'%{HTTPD_COMMONLOG} "(?:-|%{NOTQUOTE:http.request.referrer})"'
    r' "(?:-|%{NOTQUOTE:user_agent.original})"',
    "COMMONAPACHELOG": "%{HTTPD_COMMONLOG}",
    "COMBINEDAPACHELOG": "%{HTTPD_COMBINEDLOG}",
    "HTTPD24_ERRORLOG": r"\[%{HTTPDERROR_DATE:timestamp}\] \[(?:%{WORD:apache.error.module})?:%{LOGLEVEL:log.level}\] "
    r"\[pid %{POSINT:process.pid:int}(?::tid %{INT:process.thread.id:int})?\]"
    r"(?: \[client %{IPORHOST:source.address}(?::%{POSINT:source.port:int})?\])?"
    r"(?: %{DATA:error.code}:)? %{GREEDYDATA:message}",
    "REDISLOG": r"\[%{POSINT:process.pid:int}\] %{REDISTIMESTAMP:timestamp} \* ",
    "POSTGRESQL": r"%{DATESTAMP:timestamp} %{TZ:event.timezone} %{DATA:user.name} "
    r"%{GREEDYDATA:postgresql.log.connection_id} %{POSINT:process.pid:int}",
}
_JAVA = {
    "JAVACLASS": r"(?:[a-zA-Z$_][a-zA-Z$_0-9]*\.)*[a-zA-Z$_][a-zA-Z$_0-9]*",
    "JAVAFILE": r"[a-zA-Z$_0-9. -]+",
    "JAVAMETHOD": r"(?:<(?:cl)?init>|[a-zA-Z$_][a-zA-Z$_0-9]*)",
    "JAVATHREAD": r"[A-Z]{2}-Processor[0-9]+",
    "JAVALOGMESSAGE": r".*",
    "JAVASTACKTRACEPART": r"\s*at %{JAVACLASS:java.log.origin.class.name}\.%{JAVAMETHOD:log.origin.function}"
    r"\(%{JAVAFILE:log.origin.file.name}(?::%{INT:log.origin.file.line:int})?\)",
    "JAVASTACK": r"%{JAVASTACKTRACEPART}",
    "CATALINALOG": r"%{TOMCAT_DATESTAMP:timestamp} %{LOGLEVEL:log.level} \[%{DATA:java.log.origin.thread.name}\] "
    r"%{JAVACLASS:java.log.origin.class.name}\.%{JAVAMETHOD:log.origin.function} %{JAVALOGMESSAGE:message}",
}

PATTERNS = {**_TEXT, **_NUMBERS, **_NETWORK, **_PATHS, **_TIMES, **_SYSLOG, **_SERVERS, **_JAVA}
