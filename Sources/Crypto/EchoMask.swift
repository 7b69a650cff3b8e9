import Glibc
import System

/// Blots out secrets in a server's text. A server, or a proxy before it, may echo what it was sent:
/// as it came, in base64, percent-encoded, or escaped as JSON and HTML demand.
///
///     EchoMask([token]).blotted(answer.message, bytesMax: 512)
///
/// Sendable although it holds a variable: that changes only when the last owner lets go, and is
/// wiped.
package final class EchoMask: @unchecked Sendable {
    /// Secrets, and what base64 makes of them. The longest first.
    private var forms: [[UInt8]]

    /// A shorter one is no secret, and would blot out half of a message.
    private static let secretBytesMin = 4
    private static let base64BytesMin = 6
    /// The end of a text that was cut may be a beginning of a secret that has so many bytes.
    private static let beginningMin = 8
    /// So much of a text is looked at, of which little is shown.
    private static let lookedAtMax = 16 << 10
    /// An escape within an escape, twice.
    private static let depthMax = 3

    package convenience init(_ secrets: [Secret]) {
        self.init(bytes: secrets.map { $0.withBytes { Array($0) } })
    }

    package convenience init(texts: [String]) {
        self.init(bytes: texts.map { Array($0.utf8) })
    }

    private init(bytes: [[UInt8]]) {
        var secrets = Set(bytes.filter { $0.count >= Self.secretBytesMin })
        // Where a secret has what looks like an escape, undoing others undoes that, too.
        for secret in secrets {
            var form = Unescaped(secret)
            for _ in 0..<Self.depthMax {
                guard let next = form.unescaped() else { break }
                form = next
                if form.bytes.count >= Self.secretBytesMin { secrets.insert(form.bytes) }
            }
        }
        forms = secrets.union(secrets.flatMap(Self.base64Forms)).sorted { $0.count > $1.count }
    }

    deinit {
        for index in forms.indices { wipe(&forms[index]) }
    }

    /// What base64 makes of a text with the secret in it, for each place where it may begin.
    private static func base64Forms(of secret: [UInt8]) -> [[UInt8]] {
        (0..<3).flatMap { shift -> [[UInt8]] in
            let text = Digest.base64([UInt8](repeating: 0, count: shift) + secret).utf8
            let digits = text.prefix { $0 != UInt8(ascii: "=") }
            // The first and the last digit hold bits of neighbours.
            let isShared = (shift + secret.count) % 3 != 0
            let own = Array(digits.dropFirst([0, 2, 3][shift]).dropLast(isShared ? 1 : 0))
            guard own.count >= base64BytesMin else { return [] }
            let ofURL = own.map { byte in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                default: byte
                }
            }
            return [own, ofURL]
        }
    }

    /// The text without secrets, then cut: half a secret would not be recognised. `isCut`: it ends
    /// at a limit already.
    package func blotted(_ text: String, bytesMax: Int, isCut: Bool = false) -> String {
        let all = text.utf8
        let isCut = isCut || all.count > Self.lookedAtMax
        var seen = Unescaped(Array(all.prefix(Self.lookedAtMax)))
        let bytes = seen.bytes
        var hidden: [Range<Int>] = []
        for depth in 0...Self.depthMax {
            if depth > 0 {
                guard let next = seen.unescaped() else { break }
                seen = next
            }
            for range in ranges(in: seen.bytes, isCut: isCut) {
                hidden.append(seen.starts[range.lowerBound]..<seen.starts[range.upperBound])
            }
        }
        return Self.shown(bytes, without: hidden, bytesMax)
    }

    private func ranges(in bytes: [UInt8], isCut: Bool) -> [Range<Int>] {
        var found: [Range<Int>] = []
        for form in forms {
            if form.count <= bytes.count {
                bytes.withUnsafeBytes { text in
                    for start in 0...bytes.count - form.count
                    where text[start] == form[0]
                        && memcmp(text.baseAddress! + start, form, form.count) == 0
                    {
                        found.append(start..<start + form.count)
                    }
                }
            }
            guard isCut else { continue }
            let longest = min(form.count - 1, bytes.count)
            for length in stride(from: longest, through: Self.beginningMin, by: -1)
            where bytes.suffix(length).elementsEqual(form.prefix(length)) {
                found.append(bytes.count - length..<bytes.count)
                break
            }
        }
        return found
    }

    private static func shown(
        _ bytes: [UInt8],
        without hidden: [Range<Int>],
        _ bytesMax: Int
    ) -> String {
        var kept: [UInt8] = []
        var end = 0
        for range in hidden.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            // Secrets overlap where one is a part of another.
            if range.lowerBound >= end {
                kept += bytes[end..<range.lowerBound] + Array("•••".utf8)
            }
            end = max(end, range.upperBound)
        }
        kept += bytes[end...]
        var count = 0
        let scalars = String(decoding: kept, as: UTF8.self).unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= bytesMax
        }
        return String(scalars)
    }
}

/// A text with its escapes undone, which knows where each byte comes from.
private struct Unescaped {
    var bytes: [UInt8]
    /// Where each byte begins in the text as it came, and behind the last one its end.
    var starts: [Int]

    init(_ text: [UInt8]) {
        bytes = text
        starts = Array(0...text.count)
    }

    /// nil: there is nothing to undo.
    func unescaped() -> Unescaped? {
        guard bytes.contains(where: { "%\\&".utf8.contains($0) }) else { return nil }
        var next = Unescaped([])
        next.starts = []
        var place = 0
        while place < bytes.count {
            let (meaning, length) = Self.escape(bytes[place...]) ?? ([bytes[place]], 1)
            for byte in meaning {
                next.bytes.append(byte)
                next.starts.append(starts[place])
            }
            place += length
        }
        next.starts.append(starts[place])
        return next.bytes.count < bytes.count ? next : nil
    }

    private static let entities: [(name: [UInt8], meaning: UInt8)] = [
        (Array("&amp;".utf8), UInt8(ascii: "&")), (Array("&lt;".utf8), UInt8(ascii: "<")),
        (Array("&gt;".utf8), UInt8(ascii: ">")), (Array("&quot;".utf8), UInt8(ascii: "\"")),
        (Array("&apos;".utf8), UInt8(ascii: "'")),
    ]

    /// What the escape at the beginning means, and its length.
    private static func escape(_ text: ArraySlice<UInt8>) -> (meaning: [UInt8], length: Int)? {
        let next = text.dropFirst()
        switch text.first {
        case UInt8(ascii: "%"):
            return number(next.prefix(2), radix: 16, digits: 2...2).map { ([UInt8($0)], 3) }
        case UInt8(ascii: "\\"):
            switch next.first {
            case UInt8(ascii: "u"):
                return number(next.dropFirst().prefix(4), radix: 16, digits: 4...4)
                    .flatMap(utf8).map { ($0, 6) }
            case UInt8(ascii: "/"), UInt8(ascii: "\""), UInt8(ascii: "\\"):
                return ([next.first!], 2)
            default: return nil
            }
        case UInt8(ascii: "&"):
            if let named = entities.first(where: { text.starts(with: $0.name) }) {
                return ([named.meaning], named.name.count)
            }
            guard next.first == UInt8(ascii: "#") else { return nil }
            let isHexadecimal =
                next.dropFirst().first.map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
            let mark = isHexadecimal ? 3 : 2
            let digits = text.dropFirst(mark).prefix(7).prefix { $0 != UInt8(ascii: ";") }
            guard text.dropFirst(mark + digits.count).first == UInt8(ascii: ";") else { return nil }
            return number(digits, radix: isHexadecimal ? 16 : 10, digits: 1...6)
                .flatMap(utf8).map { ($0, mark + digits.count + 1) }
        default: return nil
        }
    }

    private static func number(
        _ digits: ArraySlice<UInt8>,
        radix: UInt32,
        digits count: ClosedRange<Int>
    ) -> UInt32? {
        guard count.contains(digits.count) else { return nil }
        return digits.reduce(0 as UInt32?) { value, digit in
            guard let value, let figure = hexValue(digit), figure < radix else { return nil }
            return value * radix + UInt32(figure)
        }
    }

    private static func utf8(_ code: UInt32) -> [UInt8]? {
        Unicode.Scalar(code).map { Array(UTF8.encode($0)!) }
    }
}
