/// Puts the texts of a request's records together, and writes the records: first the texts of their
/// resource and their scope, which they share, and behind them each record's own.
///
/// Names and values are those of the SLS exporter of the OpenTelemetry Collector, so that logs look
/// alike whichever way they took. Fields that it leaves out (`otlp.attribute`, `eventName`,
/// `observedTimeUnixNano`, `droppedAttributesCount`) are there when a record has them.
///
/// A request becomes one group of logs. In the lean form the records of a scope may become a group
/// of their own, with the shared texts as its tags.
struct OTLPTexts: ~Copyable {
    /// Below that, repeating is cheaper than a stream of its own.
    private static let cheapBytes = 16 << 10
    /// The most groups with tags; records beyond them repeat.
    private static let apartMax = 1024

    var memory = TextMemory()
    private(set) var form = OTLPForm.whole
    private var shared = OTLPSharedTexts()
    private var scopeStart = 0
    private var recordStart = 0

    /// The size of all records of the request so far. Each may repeat its resource, so it may be
    /// far more than was sent.
    private var written = 0
    /// The most that they may become.
    private(set) var bytesMax = Int.max
    /// True when they would have become more.
    private var isExceeded = false
    /// True while the records that are read have their shared texts as tags.
    private var isApart = false
    private var groups: [TrackedLogs] = []
    /// How many of them have tags.
    private var apartCount = 0
    /// The service of the records since the last complete group.
    private var services: OTLPServices?

    mutating func startRequest(_ form: OTLPForm, atMost bytesMax: Int, byService: Bool = false) {
        services = byService ? OTLPServices() : nil
        memory.start(atMost: bytesMax)
        self.form = form
        self.bytesMax = bytesMax
        (written, isExceeded, isApart, groups, apartCount) = (0, false, false, [], 0)
    }

    /// Forgets everything, and gives back the memory that a large request needed.
    mutating func shrink() {
        memory.shrink()
        groups = []
    }

    /// True when the texts or logs exceed the bound: then it is refused, or read in the lean form.
    var isTooLarge: Bool { isExceeded || memory.isExceeded }

    // MARK: - Shared texts

    mutating func startResource() {
        memory.cut(to: 0)
    }

    mutating func endResource(attributes: Range<Int>?, host: Range<Int>, service: Range<Int>) {
        shared.host = settle(host)
        shared.service = settle(service)
        // The exporter writes an empty object, which says nothing.
        let none = attributes == nil && form == .whole ? add("{}") : 0..<0
        shared.resource = settle(attributes ?? none)
        scopeStart = memory.count
    }

    mutating func noResource() {
        startResource()
        endResource(attributes: nil, host: 0..<0, service: 0..<0)
    }

    mutating func startScope() {
        memory.cut(to: scopeStart)
    }

    mutating func endScope(name: Range<Int>, version: Range<Int>, attributes: Range<Int>?) {
        shared.scopeName = settle(name)
        shared.scopeVersion = settle(version)
        shared.scopeAttributes = settle(attributes ?? 0..<0)
        recordStart = memory.count
    }

    mutating func noScope() {
        startScope()
        endScope(name: 0..<0, version: 0..<0, attributes: nil)
    }

    /// Repairs a text that is not UTF-8.
    private mutating func settle(_ range: Range<Int>) -> OTLPText {
        let repaired = memory.repair(range)
        return OTLPText(range: repaired ?? range, isRepaired: repaired != nil)
    }

    mutating func add(_ text: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = memory.count
        memory.append(text)
        return start..<memory.count
    }

    private mutating func add(_ text: StaticString) -> Range<Int> {
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

    // MARK: - Records

    mutating func startRecord() {
        memory.cut(to: recordStart)
    }

    /// Writes the record. False when it makes the request larger than `bytesMax`: then nothing that
    /// is written is of use.
    mutating func write(_ record: OTLPRecord, to writer: inout LogWriter) -> Bool {
        let severity = settle(record.severityText)
        let event = settle(record.eventName)
        let attributes = settle(record.attributes ?? 0..<0)
        let body = settle(record.body)
        let texts = memory.count - recordStart + (isApart ? 0 : shared.bytes)
        guard !memory.isExceeded, texts <= bytesMax - written else {
            isExceeded = true
            return false
        }
        let before = writer.bytes
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
        field("traceID", OTLPText(range: record.traceID), &writer)
        field("spanID", OTLPText(range: record.spanID), &writer)
        // A record has some fifteen fields, fewer than the smallest limit.
        _ = writer.endLog()
        // A log that is set aside takes as much; a dropped one counts as its texts.
        written += max(writer.bytes - before, texts)
        // This counts names and numbers, too, so it may exceed the bound only now.
        if written > bytesMax { isExceeded = true }
        return !isTooLarge
    }

    private func writeShared(to writer: inout LogWriter) {
        field("host", shared.host, &writer)
        field("service", shared.service, &writer)
        field("resource", shared.resource, &writer)
        field("otlp.name", shared.scopeName, &writer)
        field("otlp.version", shared.scopeVersion, &writer)
        if !shared.scopeAttributes.range.isEmpty {
            field("otlp.attribute", shared.scopeAttributes, &writer)
        }
    }

    private func field(_ name: StaticString, _ text: OTLPText, _ writer: inout LogWriter) {
        guard form == .whole || !text.range.isEmpty else { return }
        if text.isRepaired { writer.noteRepairedField() }
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

    // MARK: - Groups

    /// Begins the records of a scope, in a group of their service where that is asked for.
    mutating func startService(_ writer: inout LogWriter) {
        guard let services, !services.isPresent(memory.text(shared.service.range)) else { return }
        closeGroup(&writer)
        self.services?.start(memory.text(shared.service.range))
    }

    /// Begins so many records, which share the texts of their resource and their scope.
    mutating func startRecords(_ count: Int, _ writer: inout LogWriter) {
        guard form == .lean, count > 1, apartCount < Self.apartMax else { return }
        let (bytes, overflow) = (count - 1).multipliedReportingOverflow(by: shared.bytes)
        guard overflow || bytes > Self.cheapBytes else { return }
        closeGroup(&writer)
        isApart = true
        apartCount += 1
        written += shared.bytes
    }

    mutating func endRecords(_ writer: inout LogWriter) {
        guard isApart else { return }
        closeGroup(&writer)
        isApart = false
    }

    /// All logs of the request, when it has been read.
    mutating func finish(_ writer: inout LogWriter) -> [TrackedLogs] {
        closeGroup(&writer)
        return groups
    }

    private mutating func closeGroup(_ writer: inout LogWriter) {
        var logs = DecodedLogs()
        writer.move(to: &logs)
        guard logs.count > 0 else { return }
        var group = TrackedLogs(logs: logs, tags: isApart ? tags(writer.limits) : [])
        if services != nil {
            group.service = services?.name
            if !isApart, let known = services?.group(orNew: groups.count) {
                return groups[known].logs.append(logs)
            }
        }
        groups.append(group)
    }

    private func tags(_ limits: LogLimits) -> [(key: String, value: String)] {
        let texts: KeyValuePairs = [
            "host": shared.host, "service": shared.service, "otlp.name": shared.scopeName,
            "otlp.version": shared.scopeVersion, "resource": shared.resource,
            "otlp.attribute": shared.scopeAttributes,
        ]
        var tags = GatheredTags()
        var repaired: [String] = []
        for (name, text) in texts where !text.range.isEmpty {
            tags.add(name, String(decoding: memory.text(text.range), as: UTF8.self), limits)
            if text.isRepaired { repaired.append(name) }
        }
        if !repaired.isEmpty {
            tags.add("__invalid_utf8__", repaired.joined(separator: ","), limits)
        }
        return tags.tags
    }
}

/// What a record of OTLP says. Texts are ranges in the memory of `OTLPTexts`.
struct OTLPRecord {
    /// Nanoseconds since 1970; zero is none.
    var time: UInt64 = 0
    var observedTime: UInt64 = 0
    var severityNumber: Int32 = 0
    var flags: UInt32 = 0
    var droppedAttributes: UInt32 = 0
    var severityText = 0..<0
    var attributes: Range<Int>?
    var body = 0..<0
    var traceID = 0..<0
    var spanID = 0..<0
    var eventName = 0..<0
}

/// A text that is settled: it is UTF-8, and stands in the memory of `OTLPTexts`.
struct OTLPText {
    var range = 0..<0
    /// True when it was no text as it came.
    var isRepaired = false
}

/// The texts of a resource and a scope, which records share with their neighbours. A resource's
/// texts are repaired once, and not with each record.
struct OTLPSharedTexts {
    var host = OTLPText()
    var service = OTLPText()
    var resource = OTLPText()
    var scopeName = OTLPText()
    var scopeVersion = OTLPText()
    var scopeAttributes = OTLPText()

    /// The size of all of them, which each record repeats.
    var bytes: Int {
        host.range.count + service.range.count + resource.range.count
            + scopeName.range.count + scopeVersion.range.count + scopeAttributes.range.count
    }
}

/// The services of a request and their groups of logs. Filters and routes match a service's name.
struct OTLPServices {
    /// Records of further services are without a service.
    private static let servicesMax = 1024

    private var present: [UInt8] = []
    private var groups: [[UInt8]: Int] = [:]

    func isPresent(_ service: UnsafeBufferPointer<UInt8>) -> Bool {
        present.elementsEqual(service)
    }

    /// The next records are those of this service.
    mutating func start(_ service: UnsafeBufferPointer<UInt8>) {
        let name = Array(service)
        present = groups.count < Self.servicesMax || groups[name] != nil ? name : []
    }

    var name: String? {
        present.isEmpty ? nil : String(decoding: present, as: UTF8.self)
    }

    /// The group that already has records of this service; nil makes `number` that group.
    mutating func group(orNew number: Int) -> Int? {
        if let known = groups[present] { return known }
        groups[present] = number
        return nil
    }
}
