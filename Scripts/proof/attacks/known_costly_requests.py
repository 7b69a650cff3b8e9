"""The most expensive requests found so far by search or by people. They always run first."""

from proof.attacks.costly_requests import known

ENDLESS = 1 << 30
KNOWN = {
    "a million names in one log": known("logs", name="hex", count=ENDLESS),
    "names with the same sums": known("logs", name="alike", count=ENDLESS),
    "names that are cut": known("logs", name="cut", count=ENDLESS),
    "names that are cut alike": known("logs", name="cut alike", count=ENDLESS),
    "empty names": known("logs", name="empty", count=ENDLESS),
    "reserved names": known("logs", name="reserved", count=ENDLESS),
    "times again and again": known("logs", name="time", value="date", count=ENDLESS),
    "half a million logs": known("logs", name="hex", value="empty", count=1, between=b"\n"),
    "logs of 70 names": known("logs", name="hex", count=70, between=b"\n"),
    "nothing but lists": known("logs", value="wide", count=4),
    "nothing but brackets": known("logs", value="deep", count=1),
    "escapes": known("logs", value="scalars", count=4),
    "large values, gzipped": known("logs", value="text", count=4, coding="gzip"),
    "lines of one letter": known("lines", text="letter", end=b"x\n"),
    "lines of one byte that is no text": known("lines", text="byte"),
    "lines that are no text": known("lines", text="broken"),
    "one line that is no text": known("lines", text="oversize broken"),
    "empty lines": known("lines", text="empty"),
    "tags without end": known("track", name="hex", value="word", count=ENDLESS),
    "tags of two marks": known("track", name="marks", value="word", count=ENDLESS),
    "tags of many marks": known("track", name="many marks", value="word", count=ENDLESS),
    "tags that are cut": known("track", name="cut", value="word", count=ENDLESS),
    "PutLogs, tags of marks": known("putlogs", name="many marks", text="word", count=1, tags=100_000),
    "PutLogs, names without end": known("putlogs", name="hex", text="empty", count=ENDLESS),
    "PutLogs, logs that are no text": known("putlogs", name="same", text="broken", count=1),
    "PutLogs, a thousand packages": known("putlogs", name="hex", text="empty", count=64, packages=1024, is_packed=True),
    "OTLP, names without end": known("otlp", name="hex", value="none", count=ENDLESS),
    "OTLP, attributes of a resource": known(
        "otlp", name="hex", value="none", count=ENDLESS, where="resource", records=500_000
    ),
    "OTLP, doubles": known("otlp", name="same", value="double", count=16),
    "OTLP, lists of nothing": known("otlp", name="same", value="list", count=ENDLESS),
    "OTLP, pairs in pairs": known("otlp", name="same", value="deep", count=ENDLESS),
    "OTLP, not text": known("otlp", name="same", value="broken", count=4),
    "OTLP JSON, doubles": known("otlp json", name="same", value="double", count=16),
    "OTLP JSON, many digits": known("otlp json", name="same", value="many digits", count=1),
    "OTLP JSON, values before keys": known(
        "otlp json", name="same", value="backwards", count=ENDLESS, is_backwards=True
    ),
    "OTLP JSON, lists": known("otlp json", name="same", value="list", count=ENDLESS),
    "Bulk, lines of a blank": known("bulk", action="blank"),
    "Bulk, lines of blanks": known("bulk", action="blanks"),
    "Bulk, empty lines": known("bulk", action="empty"),
    "Bulk, ids that must be escaped": known("bulk", action="delete"),
    "Bulk, documents that are broken": known("bulk", action="bare", document="broken end"),
    "Bulk, documents that are no text": known("bulk", action="bare", document="not text"),
    "Bulk, indices of marks": known("bulk", action="index", name="many marks", document="small"),
    "Splunk, hosts": known("splunk", origin="host", name="many marks", event="letter"),
    "Splunk, sources": known("splunk", origin="source", name="marks", event="letter"),
    "Splunk, long sources": known("splunk", origin="long", name="few", event="letter"),
    "objects with a byte that is no text": known(
        "logs", name="few", value="letters", count=1, between=b"\n", damage="letters"
    ),
    "an array of objects with a byte that is no text": known(
        "logs", name="few", value="letters", count=1, between=b",", damage="letters"
    ),
    "objects without colons": known("logs", name="few", value="letters", count=1, between=b"\n", damage="colons"),
    "numbers that are none": known("logs", name="few", count=1, between=b",", damage="numbers"),
    "tracked logs that are no text": known("track", name="few", value="letters", count=1, logs=True, damage="letters"),
    "Splunk, events that are no text": known("splunk", name="few", event="letter", damage="letters"),
    "Bulk, documents without colons": known("bulk", action="bare", document="small", damage="colons"),
    "OTLP JSON, texts that are no text": known("otlp json", name="few", value="text", count=16, damage="letters"),
    "Loki, labels that are no text": known("loki", name="hex", count=15, length=8, sets="values", damage="letters"),
    "PutLogs, tags that are no text": known("putlogs", name="hex", text="broken", count=1, tags=100_000),
    "Loki, the same labels of two marks": known("loki", name="marks", count=1024, length=1),
    "Loki, labels in all orders": known("loki", name="marks", count=1024, length=1, sets="orders"),
    "Loki, sets of labels": known("loki", name="hex", count=15, length=8, sets="values"),
    "Loki, sets of labels of marks": known("loki", name="many marks", count=8, length=1, sets="values"),
    "Loki, names without end": known("loki", name="hex", count=5000, length=1, sets="names"),
    "Loki protobuf, labels of two marks": known("loki protobuf", name="marks", count=1024, length=1),
    "Loki protobuf, labels in all orders": known("loki protobuf", name="marks", count=1024, length=1, sets="orders"),
    "a query of marks": known("query", name="marks", count=ENDLESS),
}
