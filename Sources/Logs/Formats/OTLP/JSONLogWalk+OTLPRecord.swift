extension JSONLogWalk {
    mutating func resource(_ texts: inout OTLPTexts) throws(JSONFault) {
        guard try !takeNull() else { return texts.noResource() }
        let start = next
        texts.startResource()
        var found = OTLPAttributes()
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "attributes": found = try attributes(&texts, ofResource: true)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        let end = next
        let host = try text(ofValueAt: found.host, &texts)
        let service = try text(ofValueAt: found.service, &texts)
        next = end
        texts.endResource(attributes: found.object, host: host, service: service)
        try checkSize(texts, start)
    }

    /// Texts that are not there because they were too large are not to be used.
    private func checkSize(_ texts: borrowing OTLPTexts, _ token: Int) throws(JSONFault) {
        guard texts.isTooLarge else { return }
        throw JSONFault(.otlp(.tooLarge(texts.bytesMax)), at: Int(tokens[token]))
    }

    mutating func scope(_ texts: inout OTLPTexts) throws(JSONFault) {
        guard try !takeNull() else { return texts.noScope() }
        let start = next
        texts.startScope()
        var (name, version) = (0..<0, 0..<0)
        var found = OTLPAttributes()
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "name": name = try text(to: &texts)
            case "version": version = try text(to: &texts)
            case "attributes": found = try attributes(&texts)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        texts.endScope(name: name, version: version, attributes: found.object)
        try checkSize(texts, start)
    }

    mutating func record(_ texts: inout OTLPTexts) throws(JSONFault) {
        guard next < tokenCount else { throw unfinished }
        guard !writer.isFull else { throw fault(.tooManyLogs(limits.logs)) }
        let start = next
        texts.startRecord()
        var record = OTLPRecord()
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "timeUnixNano", "time_unix_nano": record.time = try integer()
            case "observedTimeUnixNano", "observed_time_unix_nano":
                record.observedTime = try integer()
            case "severityNumber", "severity_number": record.severityNumber = try integer()
            case "severityText", "severity_text":
                record.severityText = try text(to: &texts)
            case "body": record.body = try otlpText(&texts)
            case "attributes": record.attributes = try attributes(&texts).object
            case "droppedAttributesCount", "dropped_attributes_count":
                record.droppedAttributes = try integer()
            case "flags": record.flags = try integer()
            case "traceId", "trace_id": record.traceID = try id(to: &texts)
            case "spanId", "span_id": record.spanID = try id(to: &texts)
            case "eventName", "event_name": record.eventName = try text(to: &texts)
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard texts.write(record, to: &writer) else {
            throw JSONFault(.otlp(.tooLarge(texts.bytesMax)), at: Int(tokens[start]))
        }
    }

    private mutating func text(
        ofValueAt token: Int?,
        _ texts: inout OTLPTexts
    ) throws(JSONFault) -> Range<Int> {
        guard let token else { return 0..<0 }
        next = token
        return try otlpText(&texts)
    }
}
