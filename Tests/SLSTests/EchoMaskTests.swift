import Crypto
import System
import TestSupport
import Testing

/// What servers make of a secret when they repeat it.
struct EchoMaskTests {
    static let secrets = [
        "CAIS+abc/DEF123456==\"x&y", "hunter2+hunter2", "S3cretPass!2025/x", "p/ss1",
        "p\u{e4}ssw0rd", "Q1w2e3/R4t5/Y6u7", "ab%2Bcd/ef",
    ]
    static let encodings: [@Sendable (String) -> String] = [
        { $0 },
        { percentEncoded($0) },
        { percentEncoded(percentEncoded($0)) },
        { text in
            text.utf8.map { byte in
                (0x41...0x7a).contains(byte) ? String(UnicodeScalar(byte)) : "%\(hex([byte]))"
            }.joined()
        },
        { $0.replacing("\"", with: "\\\"").replacing("/", with: "\\/") },
        { text in
            text.unicodeScalars.map { scalar in
                "\\u" + hex([UInt8(scalar.value >> 8), UInt8(truncatingIfNeeded: scalar.value)])
            }.joined()
        },
        { $0.unicodeScalars.map { "&#\($0.value);" }.joined() },
        { text in text.unicodeScalars.map { "&#x\(String($0.value, radix: 16));" }.joined() },
        {
            $0.replacing("&", with: "&amp;").replacing("\"", with: "&quot;")
                .replacing("/", with: "\\/")
        },
        { Digest.base64(Array($0.utf8)) },
        { Digest.base64(Array("id:\($0)".utf8)) },
        { Digest.base64(Array("ids:\($0)\n".utf8)).replacing("/", with: "\\/") },
        { percentEncoded(Digest.base64(Array("name:\($0) ".utf8))) },
        { Digest.base64URL(Array("name:\($0)".utf8)) },
    ]

    @Test("A secret is hidden however it is escaped", arguments: secrets, encodings.indices)
    func escaped(secret: String, encoding: Int) {
        let echo = Self.encodings[encoding](secret)
        for others in [[], [String(secret.prefix(4)), String(secret.suffix(5))]] {
            let mask = EchoMask(texts: others + [secret])
            for (before, after) in [("token ", " is bad"), ("{\"token\":\"", "\"}"), ("", "")] {
                let shown = mask.blotted(before + echo + after, bytesMax: 512)
                #expect(shown.contains("•••"), "\(shown)")
                #expect(shown.hasPrefix(before) && shown.hasSuffix(after), "\(shown)")
                // The first and the last digits of base64 hold too little to tell anything.
                let rest = shown.dropFirst(before.count).dropLast(after.count)
                let isBase64 = encoding >= 9
                #expect(
                    rest.replacing("•••", with: "").utf8.count <= (isBase64 ? 16 : 0),
                    "\(shown)"
                )
                #expect(!rest.contains(secret.prefix(4)) && !rest.contains(secret.suffix(4)))
            }
        }
    }

    @Test("What stands around secrets is shown, and each of them has its dots")
    func around() {
        let mask = EchoMask(texts: ["abc1def2", "2025-secret", "abc"])
        let text = "abc1def2 is bad for logs-2025-secret-abc, %zz &#; \\u12 100% & é"
        #expect(
            mask.blotted(text, bytesMax: 512)
                == "••• is bad for logs-•••-abc, %zz &#; \\u12 100% & é"
        )
        #expect(mask.blotted("abc1def2abc1def2", bytesMax: 512) == "••••••")
    }

    @Test("The beginning of a secret at the end of a text that was cut is hidden")
    func cut() {
        let secret = Self.secrets[0]
        let mask = EchoMask(texts: [secret])
        for length in 8..<secret.count {
            let text = "bad: " + secret.prefix(length)
            #expect(mask.blotted(text, bytesMax: 512, isCut: true) == "bad: •••")
            #expect(mask.blotted(text, bytesMax: 512) == text)
        }
        // A text that is longer than what is looked at.
        let long = String(repeating: "-", count: (16 << 10) - 10) + secret
        #expect(!mask.blotted(long, bytesMax: 1 << 20).contains("CAIS"))
    }

    @Test("Random text neither traps nor grows without end")
    func random() {
        var random = SeededRandom(seed: 43)
        let pieces = [
            "%", "\\", "u", "&", "#", "x", ";", "41", "00e4", "amp", "S3", "é", "\"", "/",
        ]
        let mask = EchoMask(texts: ["S3S3S3S3", "S3/é\""])
        for _ in 0..<2000 {
            let text = (0..<Int.random(in: 0..<30, using: &random))
                .map { _ in pieces.randomElement(using: &random)! }.joined()
            let shown = mask.blotted(text, bytesMax: 64, isCut: true)
            #expect(shown.utf8.count <= 64 && !shown.contains("S3S3S3S3"))
        }
    }
}
