extension JSONLogDecoder {
    /// Reads logs of the OpenTelemetry Protocol as JSON, and writes what `OTLPDecoder` does: ids
    /// are hexadecimal digits, enumerations are numbers, names are in lowerCamelCase or as the
    /// schema has them. `bytesMax` is that of `OTLPDecoder`.
    package func decodeOTLP(
        _ body: LogBody,
        atMost bytesMax: Int = .max,
        byService: Bool = false
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try OTLPForm.wholeElseLean { form throws(LogDecodingError) in
            try decode(body) { json throws(JSONFault) in
                var reader = OTLPJSONReader(form, atMost: bytesMax, byService: byService)
                return try reader.request(&json)
            }
        }
    }
}

/// Reads the body of OTLP's JSON, which `OTLPProtobufReader` reads as protobuf.
///
/// Members come in any order, and logs need their resource first: logs in front of it are passed,
/// and read afterwards. Unknown members are ignored, as the protocol wants. It also wants names in
/// lowerCamelCase only, but printers of protobuf can be told to keep the schema's names, and
/// protobuf's own parsers read both.
struct OTLPJSONReader: ~Copyable {
    var texts = OTLPTexts()
    private var passedTokens = 0

    init(_ form: OTLPForm, atMost bytesMax: Int, byService: Bool) {
        texts.startRequest(form, atMost: bytesMax, byService: byService)
    }

    mutating func request(_ json: inout JSONLogReader) throws(JSONFault) -> [TrackedLogs] {
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "resourceLogs", "resource_logs":
                var hasElement = try json.cursor.enterArray()
                while hasElement {
                    try resourceLogs(&json)
                    hasElement = try json.cursor.nextElement()
                }
            // Ignoring them, as the protocol wants, would lose all of them silently.
            case "resourceSpans", "resource_spans", "resourceMetrics", "resource_metrics":
                throw OTLPMistake.otherSignal.at(json.cursor.position)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        try json.cursor.expectEnd()
        return texts.finish(&json.writer)
    }

    /// Passes the next value, to which the caller comes back, and returns its token.
    ///
    /// A value that is passed inside a passed one costs once more. So passing as a whole has a
    /// bound, far beyond any real request.
    mutating func pass(_ json: inout JSONLogReader) throws(JSONFault) -> Int {
        let start = try json.cursor.pass()
        try count(json.cursor.next - start, from: start, json)
        return start
    }

    private mutating func count(
        _ tokens: Int,
        from start: Int,
        _ json: borrowing JSONLogReader
    ) throws(JSONFault) {
        passedTokens += tokens
        guard passedTokens <= 8 * json.cursor.tokenCount else {
            throw OTLPMistake.disordered.at(json.cursor.position(of: start))
        }
    }

    // MARK: - Resources and scopes

    private mutating func resourceLogs(_ json: inout JSONLogReader) throws(JSONFault) {
        var (hasResource, hasLogs) = (false, false)
        var passed: Int?
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "resource":
                guard !hasResource else { throw json.cursor.fault(.memberRepeated) }
                hasResource = true
                try resource(&json)
            case "scopeLogs", "scope_logs":
                guard !hasLogs else { throw json.cursor.fault(.memberRepeated) }
                hasLogs = true
                if hasResource { try scopes(&json) } else { passed = try pass(&json) }
            case "instrumentationLibraryLogs", "instrumentation_library_logs":
                throw OTLPMistake.formerName.at(json.cursor.position)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard let passed else { return }
        if !hasResource { texts.noResource() }
        let end = json.cursor.next
        json.cursor.move(to: passed)
        try scopes(&json)
        json.cursor.move(to: end)
    }

    private mutating func resource(_ json: inout JSONLogReader) throws(JSONFault) {
        guard try !json.cursor.takeNull() else { return texts.noResource() }
        let start = json.cursor.position
        texts.startResource()
        var found = OTLPAttributes()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "attributes": found = try attributes(&json, ofResource: true)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        let end = json.cursor.next
        let host = try text(&json, ofValueAt: found.host)
        let service = try text(&json, ofValueAt: found.service)
        json.cursor.move(to: end)
        texts.endResource(attributes: found.object, host: host, service: service)
        try expectSize(at: start)
    }

    private mutating func text(
        _ json: inout JSONLogReader,
        ofValueAt token: Int?
    ) throws(JSONFault) -> Range<Int> {
        guard let token else { return 0..<0 }
        json.cursor.move(to: token)
        return try text(ofValue: &json)
    }

    /// Refuses a request whose texts were too large to keep: they are not there to be used.
    private func expectSize(at position: Int) throws(JSONFault) {
        guard !texts.isTooLarge else { throw OTLPMistake.tooLarge(texts.bytesMax).at(position) }
    }

    private mutating func scopes(_ json: inout JSONLogReader) throws(JSONFault) {
        var hasElement = try json.cursor.enterArray()
        while hasElement {
            try scopeLogs(&json)
            hasElement = try json.cursor.nextElement()
        }
    }

    private mutating func scopeLogs(_ json: inout JSONLogReader) throws(JSONFault) {
        var (hasScope, hasLogs) = (false, false)
        var passed: Int?
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "scope":
                guard !hasScope else { throw json.cursor.fault(.memberRepeated) }
                hasScope = true
                try scope(&json)
            case "logRecords", "log_records":
                guard !hasLogs else { throw json.cursor.fault(.memberRepeated) }
                hasLogs = true
                if hasScope { try records(&json) } else { passed = try pass(&json) }
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard let passed else { return }
        if !hasScope { texts.noScope() }
        let end = json.cursor.next
        json.cursor.move(to: passed)
        try records(&json)
        json.cursor.move(to: end)
    }

    private mutating func scope(_ json: inout JSONLogReader) throws(JSONFault) {
        guard try !json.cursor.takeNull() else { return texts.noScope() }
        let start = json.cursor.position
        texts.startScope()
        var (name, version) = (0..<0, 0..<0)
        var found = OTLPAttributes()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "name": name = try text(&json)
            case "version": version = try text(&json)
            case "attributes": found = try attributes(&json)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        texts.endScope(name: name, version: version, attributes: found.object)
        try expectSize(at: start)
    }

    // MARK: - Records

    private mutating func records(_ json: inout JSONLogReader) throws(JSONFault) {
        texts.startService(&json.writer)
        if texts.form == .lean {
            let start = json.cursor.next
            let count = try json.cursor.elementCount()
            try self.count(count.tokens, from: start, json)
            texts.startRecords(count.elements, &json.writer)
        }
        defer { texts.endRecords(&json.writer) }
        var hasElement = try json.cursor.enterArray()
        while hasElement {
            try record(&json)
            hasElement = try json.cursor.nextElement()
        }
    }

    private mutating func record(_ json: inout JSONLogReader) throws(JSONFault) {
        try json.cursor.expectToken()
        try json.expectRoomForLog()
        let start = json.cursor.position
        texts.startRecord()
        var record = OTLPRecord()
        var hasMember = try json.cursor.enterObject()
        while hasMember {
            switch try json.memberName() {
            case "timeUnixNano", "time_unix_nano": record.time = try integer(&json)
            case "observedTimeUnixNano", "observed_time_unix_nano":
                record.observedTime = try integer(&json)
            case "severityNumber", "severity_number":
                record.severityNumber = try integer(&json)
            case "severityText", "severity_text": record.severityText = try text(&json)
            case "body": record.body = try text(ofValue: &json)
            case "attributes": record.attributes = try attributes(&json).object
            case "droppedAttributesCount", "dropped_attributes_count":
                record.droppedAttributes = try integer(&json)
            case "flags": record.flags = try integer(&json)
            case "traceId", "trace_id": record.traceID = try id(&json)
            case "spanId", "span_id": record.spanID = try id(&json)
            case "eventName", "event_name": record.eventName = try text(&json)
            default: try json.skipValue()
            }
            hasMember = try json.cursor.nextMember()
        }
        guard texts.write(record, to: &json.writer) else {
            throw OTLPMistake.tooLarge(texts.bytesMax).at(start)
        }
    }
}
