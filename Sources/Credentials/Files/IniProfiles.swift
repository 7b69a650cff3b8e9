import Crypto

/// The SDKs' `~/.alibabacloud/credentials`: sections of `name = value`.
struct IniProfiles {
    private(set) var sections: [String: [String: Secret]] = [:]

    /// Bounds the number of values, each of which has its own memory pages.
    private static let linesMax = 2000

    /// nil when a line is malformed: the file may be half written.
    init?(_ bytes: [UInt8]) {
        var section = ""
        let lines = bytes.split { $0 == 0x0A || $0 == 0x0D }
        guard lines.count <= Self.linesMax else { return nil }
        for line in lines {
            let text = Self.trimmed(line)
            guard let first = text.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";")
            else { continue }
            if first == UInt8(ascii: "[") {
                guard text.last == UInt8(ascii: "]") else { return nil }
                section = Self.string(Self.trimmed(text.dropFirst().dropLast()))
                sections[section] = sections[section] ?? [:]
                continue
            }
            guard let mark = text.firstIndex(of: UInt8(ascii: "=")) else { return nil }
            let name = Self.string(Self.trimmed(text[..<mark])).lowercased()
            let value = Self.value(text[(mark + 1)...])
            sections[section, default: [:]][name] = value.withUnsafeBytes { Secret(copying: $0) }
        }
    }

    /// Strips quotes around the value and a comment after a space, as the SDKs do.
    private static func value(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let text = trimmed(bytes)
        if let quote = text.first, "\"'`".utf8.contains(quote),
            let end = text.dropFirst().firstIndex(of: quote)
        {
            let rest = trimmed(text[(end + 1)...])
            if rest.first.map(isMark) ?? true { return text[text.startIndex + 1..<end] }
        }
        let comment = text.indices.first { index in
            isMark(text[index])
                && (index == text.startIndex || [0x20, 0x09].contains(text[index - 1]))
        }
        return trimmed(text[..<(comment ?? text.endIndex)])
    }

    /// The start of a comment.
    private static func isMark(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "#") || byte == UInt8(ascii: ";")
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let start = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        let end = start.lastIndex { $0 != 0x20 && $0 != 0x09 }
        return end.map { start[...$0] } ?? start.prefix(0)
    }

    private static func string(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }
}
