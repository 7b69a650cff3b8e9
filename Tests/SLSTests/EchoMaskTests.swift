import Crypto
import System
import Testing

/// What servers make of a secret when they repeat it.
struct EchoMaskTests {
    static let secret = "CAIS+abc/DEF123456==\"x&y"

    static let base64 = Digest.base64(Array(secret.utf8))
    static let echoes = [
        secret,
        percentEncoded(secret),
        percentEncoded(percentEncoded(secret)),
        percentEncoded(secret).lowercased().replacing("cais", with: "CAIS")
            .replacing("def123456", with: "DEF123456"),
        "CAIS+abc\\/DEF123456==\\\"x&y",
        "CAIS\\u002babc\\u002fDEF123456==\\u0022x\\u0026y",
        "CAIS&#43;abc&#x2F;DEF123456==&quot;x&amp;y",
        base64,
        Digest.base64(Array("id:\(secret)".utf8)),
        Digest.base64(Array("ids:\(secret)".utf8)),
        Digest.base64(Array("name:\(secret)\n".utf8)),
        Digest.base64URL(Array("name:\(secret)".utf8)),
    ]

    @Test("A secret is hidden however it is escaped", arguments: echoes)
    func escaped(echo: String) {
        for text in ["token \(echo) is bad", "{\"token\":\"\(echo)\"}", echo] {
            let shown = EchoMask(texts: [Self.secret]).blotted(text, bytesMax: 512)
            #expect(shown.contains("•••"))
            for part in ["CAIS", "DEF123456", String(Self.base64.dropFirst(6).prefix(8))] {
                #expect(!shown.contains(part), "\(shown)")
            }
        }
    }

    @Test("What stands around a secret is shown")
    func around() {
        let text = "token \(Self.secret) is bad for project logs-of-shop, request 65F1A2"
        let shown = EchoMask(texts: [Self.secret]).blotted(text, bytesMax: 512)
        #expect(shown == "token ••• is bad for project logs-of-shop, request 65F1A2")
    }

    @Test("Usual words of a secret do not blot out others, and a short one does nothing")
    func words() {
        let mask = EchoMask(texts: ["application/json", "abc"])
        let text = "the application has no json, abc"
        #expect(mask.blotted(text, bytesMax: 512) == text)
    }

    @Test("The beginning of a secret at the end of a text that was cut is hidden")
    func cut() {
        for length in 8..<Self.secret.count {
            let text = "bad: " + Self.secret.prefix(length)
            let shown = EchoMask(texts: [Self.secret]).blotted(text, bytesMax: 512)
            #expect(shown == "bad: •••")
        }
    }
}
