"""OpenTelemetry's OTLP exporter"""

import json
import os
import time

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource

from clients.arrivals import Arrivals, Sent

NESTED = {
    "order": {"id": 7, "lines": [{"sku": "a", "price": 1.5}, {"sku": "世界", "price": -2}], "gift": False},
    "tried": ["once", "twice"],
    "retries": 3,
    "ok": True,
}


def write(arrivals: Arrivals) -> None:
    gateway = f"http://127.0.0.1:{arrivals.devices}"
    logs = f"{gateway}/v1/logs"
    for compression in Compression:
        send(arrivals, compression, logs, {})
    send(arrivals, Compression.Gzip, logs, {"x-log-project": "shop", "x-log-logstore": "traced"})
    # The general endpoint, to which the exporter appends its own path.
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"{gateway}/otlp"
    send(arrivals, Compression.Deflate, None, {"x-log-project": "shop", "x-log-logstore": "prefixed"})


def send(arrivals: Arrivals, compression: Compression, endpoint: str | None, headers: dict[str, str]) -> None:
    project, logstore = headers.get("x-log-project", "first"), headers.get("x-log-logstore", "otlp")
    resource = Resource({"service.name": "basket", "host.name": "node-1", "zone": "b"})
    provider = LoggerProvider(resource, shutdown_on_exit=False)
    exporter = OTLPLogExporter(endpoint, compression=compression, headers=headers)
    provider.add_log_record_processor(BatchLogRecordProcessor(exporter))
    logger = provider.get_logger("basket.checkout", "1.2")
    for index in range(20):
        name = f"otlp {compression.value} {logstore} {index}"
        moment = time.time_ns() - 60_000_000_000
        expect(arrivals, name, moment, project, logstore)
        times = {"timestamp": moment, "observed_timestamp": moment + 1}
        level = {"severity_number": SeverityNumber.WARN, "severity_text": "WARN"}
        logger.emit(LogRecord(body=name, attributes=NESTED, **times, **level))
    assert provider.force_flush(), "the exporter still has logs"
    provider.shutdown()


def expect(arrivals: Arrivals, name: str, moment: int, project: str, logstore: str) -> None:
    fields = {
        "content": name,
        "host": "node-1",
        "service": "basket",
        "resource": json.dumps({"zone": "b"}),
        "attribute": json.dumps(NESTED),
        "otlp.name": "basket.checkout",
        "otlp.version": "1.2",
        "timeUnixNano": str(moment),
        "observedTimeUnixNano": str(moment + 1),
        "severityNumber": "13",
        "severityText": "WARN",
        "flags": "0",
        "traceID": "",
        "spanID": "",
    }
    seconds, nanoseconds = divmod(moment, 10**9)
    arrivals.expect(Sent(fields, project, logstore, "otlp", time=seconds, nanoseconds=nanoseconds))
