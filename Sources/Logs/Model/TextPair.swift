/// Where key and value of a Content or a LogTag stand.
struct TextPair {
    private(set) var key: Range<Int>
    private(set) var value: Range<Int>

    init(
        _ bytes: UnsafeRawBufferPointer,
        _ range: Range<Int>,
        of message: StaticString
    ) throws(ProtobufError) {
        key = range.lowerBound..<range.lowerBound
        value = key
        var fields = ProtobufReader(bytes, in: range)
        while true {
            let start = fields.position
            guard let field = try fields.next() else { return }
            switch field {
            case (1, .bytes(let text)): key = text
            case (2, .bytes(let text)): value = text
            case (1...2, _): throw fields.wrongType(field.field, of: message, at: start)
            default: continue
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    func text(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: self[range]).bindMemory(to: UInt8.self)
    }
}

extension ProtobufReader {
    func wrongType(_ field: Int, of message: StaticString, at start: Int) -> ProtobufError {
        fault(start, "field \(field) of \(message) has another type than it should")
    }
}
