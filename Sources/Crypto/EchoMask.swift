import Glibc
import System

/// Blots out secrets in a server's text. A server, or a proxy before it, may echo what it was sent:
/// as it came, percent-encoded, in base64, or escaped as its own format demands.
package struct EchoMask: ~Copyable {
    /// Found as a whole.
    private var whole: [[UInt8]] = []
    /// Parts that no escape changes. What stands around one is hidden up to the next space.
    private var parts: [[UInt8]] = []

    /// A shorter one is no secret, and would blot out half of a message.
    private static let bytesMin = 4
    private static let partMin = 8
    private static let clearPartMin = 12
    /// So much of a text is looked at, of which little is shown.
    private static let lookedAtMax = 16 << 10
    private static let dots = Array("•••".utf8)

    package init(_ secrets: [Secret]) {
        for secret in secrets { add(secret.withBytes { Array($0) }) }
    }

    package init(texts: [String]) {
        for text in texts { add(Array(text.utf8)) }
    }

    deinit {
        for form in whole + parts {
            var form = form
            wipe(&form)
        }
    }

    private mutating func add(_ secret: [UInt8]) {
        guard secret.count >= Self.bytesMin else { return }
        let once = percentEncoded(secret)
        whole += [secret, once, percentEncoded(once)]
        parts += secret.split { !Self.isAlphanumeric($0) }.map(Array.init).filter(Self.isTelling)
        // Base64 of a longer text with the secret in it depends on where it begins.
        for shift in 0..<3 {
            let text = Digest.base64([UInt8](repeating: 0, count: shift) + secret).utf8
            let padded = text.prefix { $0 != UInt8(ascii: "=") }
            // The first and the last digit hold bits of neighbours.
            let isShared = (shift + secret.count) % 3 != 0
            let own = padded.dropFirst([0, 2, 3][shift]).dropLast(isShared ? 1 : 0)
            guard own.count >= Self.partMin else { continue }
            parts.append(Array(own))
            parts.append(own.map { $0 == 0x2b ? 0x2d : $0 == 0x2f ? 0x5f : $0 })
        }
    }

    /// The text without secrets, then cut: half a secret would not be recognised.
    package func blotted(_ text: String, bytesMax: Int) -> String {
        let bytes = Array(text.utf8.prefix(Self.lookedAtMax))
        var isHidden = [Bool](repeating: false, count: bytes.count)
        var starts: Set<Int> = []
        // Longer ones first, so that a secret within another one is not looked for twice.
        for form in whole.sorted(by: { $0.count > $1.count }) {
            for start in Self.places(of: form, in: bytes) where !isHidden[start] {
                starts.insert(start)
                isHidden.replaceSubrange(
                    start..<start + form.count,
                    with: repeatElement(true, count: form.count)
                )
            }
            // A limit may have cut the last one.
            let longest = min(form.count - 1, bytes.count)
            for length in stride(from: longest, through: Self.partMin, by: -1)
            where bytes.suffix(length).elementsEqual(form.prefix(length)) {
                for place in bytes.count - length..<bytes.count { isHidden[place] = true }
                break
            }
        }
        for part in parts {
            for start in Self.places(of: part, in: bytes) where !isHidden[start] {
                var range = start..<start
                while range.upperBound < bytes.count, !isHidden[range.upperBound],
                    range.upperBound < start + part.count || Self.isWord(bytes[range.upperBound])
                {
                    range = range.lowerBound..<range.upperBound + 1
                }
                while range.lowerBound > 0, !isHidden[range.lowerBound - 1],
                    Self.isWord(bytes[range.lowerBound - 1])
                {
                    range = range.lowerBound - 1..<range.upperBound
                }
                for place in range { isHidden[place] = true }
            }
        }
        return Self.cut(bytes, isHidden, starts, to: bytesMax)
    }

    private static func cut(
        _ bytes: [UInt8],
        _ isHidden: [Bool],
        _ starts: Set<Int>,
        to bytesMax: Int
    ) -> String {
        var kept: [UInt8] = []
        for (place, byte) in bytes.enumerated() {
            if !isHidden[place] {
                kept.append(byte)
            } else if place == 0 || !isHidden[place - 1] || starts.contains(place) {
                kept += dots
            }
        }
        var count = 0
        let scalars = String(decoding: kept, as: UTF8.self).unicodeScalars.prefix { scalar in
            count += UTF8.width(scalar)
            return count <= bytesMax
        }
        return String(scalars)
    }

    private static func places(of form: [UInt8], in bytes: [UInt8]) -> [Int] {
        guard form.count <= bytes.count else { return [] }
        return bytes.withUnsafeBytes { bytes in
            (0...bytes.count - form.count).filter {
                bytes[$0] == form[0] && memcmp(bytes.baseAddress! + $0, form, form.count) == 0
            }
        }
    }

    /// False for a word of a language, which other text may have.
    private static func isTelling(_ part: [UInt8]) -> Bool {
        part.count >= clearPartMin
            || part.count >= partMin && part.contains { (0x30...0x39).contains($0) }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: false
        }
    }

    /// What escaped text is made of.
    private static func isWord(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || "%+/=_\\&;#~.-".utf8.contains(byte)
    }
}
