// Names and values are those of the SLS exporter of the OpenTelemetry Collector, so that logs look alike
// whichever way they took. What it leaves out (`otlp.attribute`, `eventName`, `observedTimeUnixNano`,
// `droppedAttributesCount`) is there when a record has it.
extension OTLPTexts {
    /// A text of the record.
    private struct Text {
        let range: Range<Int>
        let isRepaired: Bool
    }

    private mutating func settle(_ range: Range<Int>) -> Text {
        let repaired = memory.repair(range)
        return Text(range: repaired ?? range, isRepaired: repaired != nil)
    }

    /// Writes the record. False when it makes the request larger than `bytesMax`; what is written is of no use then.
    mutating func write(_ record: OTLPRecord, to writer: inout LogWriter) -> Bool {
        let severity = settle(record.severityText)
        let event = settle(record.eventName)
        let attributes = settle(record.attributes ?? 0..<0)
        let body = settle(record.body)
        let texts = memory.count - recordStart + (isApart ? 0 : sharedBytes)
        guard !memory.isExceeded, texts <= bytesMax - written else {
            isExceeded = true
            return false
        }
        let (start, aside) = (writer.length, writer.excluded.bytes)
        writer.startLog()
        let time = record.time > 0 ? record.time : record.observedTime
        if time > 0 { writer.time(nanosecondsSince1970: time) }
        if !isApart { writeShared(to: &writer) }
        number("timeUnixNano", record.time, &writer)
        if record.observedTime > 0 {
            number("observedTimeUnixNano", record.observedTime, &writer)
        }
        if form == .whole || record.severityNumber != 0 {
            field("severityNumber", &writer) { $0.append(decimal: Int64(record.severityNumber)) }
        }
        field("severityText", severity, &writer)
        if !event.range.isEmpty { field("eventName", event, &writer) }
        if record.attributes != nil {
            field("attribute", attributes, &writer)
        } else if form == .whole {
            field("attribute", &writer) { $0.append("{}") }
        }
        if record.droppedAttributes > 0 {
            number("droppedAttributesCount", UInt64(record.droppedAttributes), &writer)
        }
        field("content", body, &writer)
        if form == .whole || record.flags != 0 {
            field("flags", &writer) { $0.append(hex: record.flags) }
        }
        field("traceID", Text(range: record.traceID, isRepaired: false), &writer)
        field("spanID", Text(range: record.spanID, isRepaired: false), &writer)
        writer.endLog()
        // What is kept aside takes as much; what is dropped counts as what was read.
        written += max(writer.length - start + writer.excluded.bytes - aside, texts)
        // Names are known now, too, and numbers are texts.
        if written > bytesMax { isExceeded = true }
        return !isTooLarge
    }

    private func writeShared(to writer: inout LogWriter) {
        write(host, to: &writer)
        write(service, to: &writer)
        write(resource, to: &writer)
        write(scopeName, to: &writer)
        write(scopeVersion, to: &writer)
        if !scopeAttributes.range.isEmpty { write(scopeAttributes, to: &writer) }
    }

    private func write(_ text: OTLPSharedText, to writer: inout LogWriter) {
        field(text.name, Text(range: text.range, isRepaired: text.isRepaired), &writer)
    }

    private func field(_ name: StaticString, _ text: Text, _ writer: inout LogWriter) {
        guard form == .whole || !text.range.isEmpty else { return }
        if text.isRepaired { writer.remarks.addInvalid(at: writer.length) }
        writer.field(name: name, value: memory.text(text.range))
    }

    private mutating func number(
        _ name: StaticString,
        _ number: UInt64,
        _ writer: inout LogWriter
    ) {
        guard form == .whole || number > 0 else { return }
        field(name, &writer) { $0.append(decimal: number) }
    }

    private mutating func field(
        _ name: StaticString,
        _ writer: inout LogWriter,
        _ append: (inout TextMemory) -> Void
    ) {
        let start = memory.count
        append(&memory)
        writer.field(name: name, value: memory.text(start..<memory.count))
    }
}
