extension JSONLogWalk {
    mutating func resource(_ texts: inout OTLPTexts) throws(JSONFault) {
        guard try !takeNull() else { return texts.noResource() }
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
        let attributes = found.object ?? texts.add("{}")
        texts.endResource(attributes: attributes, host: host, service: service)
    }

    mutating func scope(_ texts: inout OTLPTexts) throws(JSONFault) {
        guard try !takeNull() else { return texts.noScope() }
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
            case "timeUnixNano": record.time = try integer()
            case "observedTimeUnixNano": record.observedTime = try integer()
            case "severityNumber": record.severityNumber = try integer()
            case "severityText": record.severityText = try text(to: &texts)
            case "body": record.body = try otlpText(&texts)
            case "attributes": record.attributes = try attributes(&texts).object
            case "droppedAttributesCount": record.droppedAttributes = try integer()
            case "flags": record.flags = try integer()
            case "traceId": record.traceID = try id(to: &texts)
            case "spanId": record.spanID = try id(to: &texts)
            case "eventName": record.eventName = try text(to: &texts)
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
