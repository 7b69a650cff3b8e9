/// JSON under construction, as bytes.
struct JSONText: Sendable {
    private(set) var bytes: [UInt8] = []

    var text: String { String(decoding: bytes, as: UTF8.self) }

    mutating func reserve(_ byteCount: Int) { bytes.reserveCapacity(byteCount) }

    mutating func append(_ raw: StaticString) {
        bytes.append(
            contentsOf: UnsafeBufferPointer(start: raw.utf8Start, count: raw.utf8CodeUnitCount)
        )
    }

    mutating func append(_ raw: some Sequence<UInt8>) { bytes.append(contentsOf: raw) }

    /// Appends the text as a quoted string.
    mutating func append(quoting text: String) {
        var text = text
        text.withUTF8 { append(quoting: UnsafeRawBufferPointer($0)) }
    }

    /// The same for bytes known to be UTF-8, after a prefix that needs no escape.
    mutating func append(prefix: StaticString = "", quoting text: UnsafeRawBufferPointer) {
        bytes.append(UInt8(ascii: "\""))
        append(prefix)
        var plain = 0
        for index in text.indices {
            let byte = text[index]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else {
                continue
            }
            bytes.append(contentsOf: text[plain..<index])
            appendEscape(of: byte)
            plain = index + 1
        }
        bytes.append(contentsOf: text[plain...])
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case UInt8(ascii: "\n"): append("\\n")
        case UInt8(ascii: "\r"): append("\\r")
        case UInt8(ascii: "\t"): append("\\t")
        default:
            append("\\u00")
            for digit in [byte >> 4, byte & 15] {
                bytes.append(
                    digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
                )
            }
        }
    }
}
