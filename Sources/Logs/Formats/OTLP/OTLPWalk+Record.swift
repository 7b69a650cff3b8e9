extension OTLPWalk {
    mutating func record(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        at start: Int
    ) throws(ProtobufError) {
        var fields = ProtobufReader(bytes, in: range)
        guard !writer.isFull else {
            let reason = "the body has more than \(limits.logs) logs; send smaller batches"
            throw fields.fault(start, reason)
        }
        texts.startRecord()
        var record = OTLPRecord()
        var body: Range<Int>?
        // From the first to the last one, with whatever stands between them.
        var attributes: Range<Int>?
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .fixed64(let time)): record.time = time
            case (2, .number(let number)): record.severityNumber = Int32(truncatingIfNeeded: number)
            case (3, .bytes(let text)): record.severityText = texts.add(bytes.text(text))
            case (5, .bytes(let value)): body = value
            case (6, .bytes): attributes = (attributes?.lowerBound ?? start)..<fields.position
            case (7, .number(let count)):
                record.droppedAttributes = UInt32(truncatingIfNeeded: count)
            case (8, .fixed32(let flags)): record.flags = flags
            case (9, .bytes(let id)): record.traceID = texts.add(id: bytes.text(id))
            case (10, .bytes(let id)): record.spanID = texts.add(id: bytes.text(id))
            case (11, .fixed64(let time)): record.observedTime = time
            case (12, .bytes(let text)): record.eventName = texts.add(bytes.text(text))
            case (1...3, _), (5...12, _):
                throw fields.wrongType(field.field, of: "LogRecord", at: start)
            default: continue
            }
        }
        if let attributes {
            record.attributes = try self.attributes(bytes, attributes, field: 6, of: "LogRecord")
        }
        if let body { record.body = try text(bytes, body) }
        guard texts.write(record, to: &writer) else {
            throw fields.fault(start, OTLPMistake.tooLarge(texts.bytesMax).sentence)
        }
    }
}
