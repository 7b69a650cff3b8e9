import Glibc

// Pieces of JSON, appended to the output.
extension LogOutput {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    mutating func append(_ text: [UInt8]) {
        text.withUnsafeBufferPointer { append($0) }
    }

    @inline(__always)
    mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
        guard let source = text.baseAddress, !text.isEmpty else { return }
        makeRoom(forBytes: text.count)
        memcpy(end, source, text.count)
        length += text.count
    }

    mutating func append(escaping text: String) {
        var text = text
        text.withUTF8 { append(escaping: $0) }
    }

    /// The inside of a JSON string. What is not UTF-8 becomes U+FFFD.
    mutating func append(escaping text: UnsafeBufferPointer<UInt8>) {
        guard text.isUTF8 else { return append(repairing: text) }
        var plain = 0
        for index in text.indices where Self.needsEscape(text[index]) {
            append(UnsafeBufferPointer(rebasing: text[plain..<index]))
            append(escape: text[index])
            plain = index + 1
        }
        append(UnsafeBufferPointer(rebasing: text[plain...]))
    }

    private mutating func append(repairing text: UnsafeBufferPointer<UInt8>) {
        let repaired = [UInt8](scratch: text.count * UTF8Sequence.growth) {
            UTF8Sequence.repair(text, to: $0)
        }
        repaired.withUnsafeBufferPointer { append(escaping: $0) }
    }

    @inline(__always)
    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private mutating func append(escape byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append(byte < 0x10 ? "\\u000" : "\\u001")
            let digit = byte & 15
            append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    private mutating func append(byte: UInt8) {
        makeRoom(forBytes: 1)
        end.pointee = byte
        length += 1
    }
}
