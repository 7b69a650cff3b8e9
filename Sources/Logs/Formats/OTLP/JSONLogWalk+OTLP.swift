// The body of OTLP's JSON: what `OTLPWalk` reads as protobuf.
//
// Members come in any order, and what a resource says is needed before its logs: logs in front of it are
// passed, and read afterwards. Unknown members are ignored, as the protocol wants it. It also wants names in
// lowerCamelCase only, but printers of protobuf can be told to keep those of the schema, and protobuf's own
// parsers read both.
extension JSONLogWalk {
    mutating func otlpRequest(_ texts: inout OTLPTexts) throws(JSONFault) {
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "resourceLogs", "resource_logs":
                var hasElement = try enterArray()
                while hasElement {
                    try resourceLogs(&texts)
                    hasElement = try nextElement()
                }
            // Were they ignored as the protocol wants it, all would be gone without a word.
            case "resourceSpans", "resource_spans", "resourceMetrics", "resource_metrics":
                throw fault(.otlp(.otherSignal))
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard next == tokenCount else { throw fault(.textFollows) }
    }

    private mutating func resourceLogs(_ texts: inout OTLPTexts) throws(JSONFault) {
        var (hasResource, hasLogs) = (false, false)
        var passed: Int?
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "resource":
                guard !hasResource else { throw fault(.otlp(.memberRepeated)) }
                hasResource = true
                try resource(&texts)
            case "scopeLogs", "scope_logs":
                guard !hasLogs else { throw fault(.otlp(.memberRepeated)) }
                hasLogs = true
                if hasResource { try scopes(&texts) } else { passed = try pass() }
            case "instrumentationLibraryLogs", "instrumentation_library_logs":
                throw fault(.otlp(.formerName))
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard let passed else { return }
        if !hasResource { texts.noResource() }
        let end = next
        next = passed
        try scopes(&texts)
        next = end
    }

    private mutating func scopes(_ texts: inout OTLPTexts) throws(JSONFault) {
        var hasElement = try enterArray()
        while hasElement {
            try scopeLogs(&texts)
            hasElement = try nextElement()
        }
    }

    private mutating func scopeLogs(_ texts: inout OTLPTexts) throws(JSONFault) {
        var (hasScope, hasLogs) = (false, false)
        var passed: Int?
        var hasMember = try enterObject()
        while hasMember {
            switch try memberName() {
            case "scope":
                guard !hasScope else { throw fault(.otlp(.memberRepeated)) }
                hasScope = true
                try scope(&texts)
            case "logRecords", "log_records":
                guard !hasLogs else { throw fault(.otlp(.memberRepeated)) }
                hasLogs = true
                if hasScope { try records(&texts) } else { passed = try pass() }
            default: try skipValue()
            }
            hasMember = try nextMember()
        }
        guard let passed else { return }
        if !hasScope { texts.noScope() }
        let end = next
        next = passed
        try records(&texts)
        next = end
    }

    private mutating func records(_ texts: inout OTLPTexts) throws(JSONFault) {
        if texts.form == .lean { texts.startRecords(try elementCount(), &writer) }
        defer { texts.endRecords(&writer) }
        var hasElement = try enterArray()
        while hasElement {
            try record(&texts)
            hasElement = try nextElement()
        }
    }
}
