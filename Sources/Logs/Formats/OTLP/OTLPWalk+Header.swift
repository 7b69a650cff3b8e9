extension OTLPWalk {
    private static let hostName = Array("host.name".utf8)
    private static let serviceName = Array("service.name".utf8)

    /// Host and service have fields of their own; the other attributes are one JSON object.
    mutating func resource(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) {
        texts.startResource()
        var host = 0..<0
        var service = 0..<0
        let attributes = try attributes(bytes, range, field: 1, of: "Resource") { pair in
            let name = bytes.text(pair.key)
            if name.elementsEqual(Self.hostName) {
                host = pair.value
            } else if name.elementsEqual(Self.serviceName) {
                service = pair.value
            } else {
                return true
            }
            return false
        }
        // No value is an empty one.
        let hostText = try text(bytes, host)
        let serviceText = try text(bytes, service)
        texts.endResource(attributes: attributes, host: hostText, service: serviceText)
        try checkSize(range)
    }

    mutating func scope(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>
    ) throws(ProtobufError) {
        texts.startScope()
        var name = 0..<0
        var version = 0..<0
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            switch field {
            case (1, .bytes(let text)): name = texts.add(bytes.text(text))
            case (2, .bytes(let text)): version = texts.add(bytes.text(text))
            case (3, .bytes), (4, .number): continue
            case (1...4, _):
                throw fields.wrongType(field.field, of: "InstrumentationScope", at: start)
            default: continue
            }
        }
        let attributes = try attributes(bytes, range, field: 3, of: "InstrumentationScope")
        texts.endScope(name: name, version: version, attributes: attributes)
        try checkSize(range)
    }

    /// Texts that are not there because they were too large are not to be used.
    private func checkSize(_ range: Range<Int>) throws(ProtobufError) {
        guard texts.isTooLarge else { return }
        throw ProtobufError(
            position: range.lowerBound,
            reason: OTLPMistake.tooLarge(texts.bytesMax).sentence
        )
    }

    /// The JSON object of the attributes that are one field of a message; nil when there are none.
    mutating func attributes(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        field number: Int,
        of message: StaticString,
        where isIncluded: (TextPair) -> Bool = { _ in true }
    ) throws(ProtobufError) -> Range<Int>? {
        let first = texts.memory.count
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { break }
            guard field.field == number else { continue }
            guard case .bytes(let range) = field.value else {
                throw fields.wrongType(number, of: message, at: start)
            }
            let pair = try TextPair(bytes, range, of: "KeyValue")
            guard isIncluded(pair) else { continue }
            texts.memory.append(texts.memory.count == first ? "{" : ",")
            try member(bytes, pair, depth: 1)
        }
        guard texts.memory.count > first else { return nil }
        texts.memory.append("}")
        return first..<texts.memory.count
    }
}
