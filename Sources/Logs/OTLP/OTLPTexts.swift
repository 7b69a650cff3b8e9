/// What a record of OTLP says besides its texts.
struct OTLPRecord {
    /// Nanoseconds since 1970; zero is none.
    var time: UInt64 = 0
    var observedTime: UInt64 = 0
    var severityNumber: Int32 = 0
    var flags: UInt32 = 0
    var droppedAttributes: UInt32 = 0
    // In the memory of the texts.
    var severityText = 0..<0
    var attributes: Range<Int>?
    var body = 0..<0
    var traceID = 0..<0
    var spanID = 0..<0
    var eventName = 0..<0
}

/// The texts that the fields of one record will have: those of its resource and its scope, which it
/// shares with its neighbours, and behind them its own.
///
/// Names and values are those of the SLS exporter of the OpenTelemetry Collector, so that logs look alike
/// whichever way they took. What it leaves out (`otlp.attribute`, `eventName`, `observedTimeUnixNano`,
/// `droppedAttributesCount`) is there when a record has it.
struct OTLPTexts: ~Copyable {
    var memory = TextMemory()

    private var host = 0..<0
    private var service = 0..<0
    private var resource = 0..<0
    /// Where the scope's texts start.
    private var scopeStart = 0
    private var scopeName = 0..<0
    private var scopeVersion = 0..<0
    /// Nil when it has none.
    private var scopeAttributes: Range<Int>?
    /// Where the record's texts start.
    private var recordStart = 0
    /// What all records of the request together need so far. Each repeats what its resource says, so it
    /// may be far more than was sent.
    private var written = 0
    /// What they may need.
    private(set) var bytesMax = Int.max

    /// What the names of the fields take, and their lengths.
    private static let namesBytes = 192

    mutating func startRequest(atMost bytesMax: Int) {
        memory.cut(to: 0)
        written = 0
        self.bytesMax = bytesMax
    }

    mutating func startResource() {
        memory.cut(to: 0)
    }

    mutating func endResource(attributes: Range<Int>, host: Range<Int>, service: Range<Int>) {
        (resource, self.host, self.service) = (attributes, host, service)
        scopeStart = memory.count
    }

    mutating func noResource() {
        startResource()
        endResource(attributes: add("{}"), host: 0..<0, service: 0..<0)
    }

    mutating func startScope() {
        memory.cut(to: scopeStart)
    }

    mutating func endScope(name: Range<Int>, version: Range<Int>, attributes: Range<Int>?) {
        (scopeName, scopeVersion, scopeAttributes) = (name, version, attributes)
        recordStart = memory.count
    }

    mutating func noScope() {
        startScope()
        endScope(name: 0..<0, version: 0..<0, attributes: nil)
    }

    mutating func startRecord() {
        memory.cut(to: recordStart)
    }

    mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = memory.count
        memory.append(text)
        return start..<memory.count
    }

    mutating func add(_ text: StaticString) -> Range<Int> {
        let start = memory.count
        memory.append(text)
        return start..<memory.count
    }

    /// An id of zeros is none (trace context, section 3.2.2.3).
    mutating func add(id: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = memory.count
        if id.contains(where: { $0 != 0 }) { memory.append(hex: id) }
        return start..<memory.count
    }

    /// Writes the record. False when it would make the request larger than `bytesMax`; then it is not
    /// written.
    mutating func write(_ record: OTLPRecord, to writer: inout LogWriter) -> Bool {
        written += memory.count + Self.namesBytes
        guard written <= bytesMax else { return false }
        writer.startLog()
        let time = record.time > 0 ? record.time : record.observedTime
        if time > 0 { writer.time(nanosecondsSince1970: time) }
        writeShared(to: &writer)
        writeOwn(record, to: &writer)
        writer.endLog()
        return true
    }

    private func writeShared(to writer: inout LogWriter) {
        writer.uncheckedField(name: "host", value: memory.text(host))
        writer.uncheckedField(name: "service", value: memory.text(service))
        writer.uncheckedField(name: "resource", value: memory.text(resource))
        writer.uncheckedField(name: "otlp.name", value: memory.text(scopeName))
        writer.uncheckedField(name: "otlp.version", value: memory.text(scopeVersion))
        if let scopeAttributes {
            writer.uncheckedField(name: "otlp.attribute", value: memory.text(scopeAttributes))
        }
    }

    private mutating func writeOwn(_ record: OTLPRecord, to writer: inout LogWriter) {
        field("timeUnixNano", &writer) { $0.append(decimal: record.time) }
        if record.observedTime > 0 {
            field("observedTimeUnixNano", &writer) { $0.append(decimal: record.observedTime) }
        }
        field("severityNumber", &writer) { $0.append(decimal: Int64(record.severityNumber)) }
        writer.uncheckedField(name: "severityText", value: memory.text(record.severityText))
        if !record.eventName.isEmpty {
            writer.uncheckedField(name: "eventName", value: memory.text(record.eventName))
        }
        if let attributes = record.attributes {
            writer.uncheckedField(name: "attribute", value: memory.text(attributes))
        } else {
            field("attribute", &writer) { $0.append("{}") }
        }
        if record.droppedAttributes > 0 {
            field("droppedAttributesCount", &writer) {
                $0.append(decimal: UInt64(record.droppedAttributes))
            }
        }
        writer.uncheckedField(name: "content", value: memory.text(record.body))
        field("flags", &writer) { $0.append(hex: record.flags) }
        writer.field(name: "traceID", value: memory.text(record.traceID))
        writer.field(name: "spanID", value: memory.text(record.spanID))
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

extension OTLPTexts {
    static func tooLarge(_ bytesMax: Int) -> String {
        "the logs, each with what its resource says, take more than \(bytesMax) bytes; send smaller batches"
    }
}
