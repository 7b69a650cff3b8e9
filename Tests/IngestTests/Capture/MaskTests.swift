import Crypto
import Foundation
import System
import TestSupport
import Testing

@testable import Ingest

@Suite(.timeLimit(.minutes(10))) struct MaskTests {
    private func shown(_ text: String) -> String { Mask.hidingSecrets(in: text) }

    @Test(
        "A secret behind its name is masked in every shape of text",
        arguments: [
            #"m=shown password="canary one" m=hidden"#,
            "m=shown password='canary one' m=hidden",
            "m=shown token = canary", "m=shown\npassword: canary",
            "Authorization: Bearer canary\nm=shown",
            "m=shown https://user:canary@host/path", "shown https://canary@host/",
            #"{"m":"shown","passw\u006frd":"canary"}"#,
            "{\"m\":\"shown \"quoted\"\"}\n{\"password\":\"canary\"}",
            #"{"m":"shown","a":[{"key":"password","value":{"stringValue":"canary"}}]}"#,
            #"{"m":"shown","a":[{"value":{"stringValue":"canary"},"key":"password"}]}"#,
            #"{"m":"shown","headers":[["Authorization","canary"],["a","b"]]}"#,
            "{\"m\":\"shown\",\n\"a\":[\n{\"key\":\"password\",\n\"value\":{\n\"stringValue\":\"canary\"}}]}",
            "shown\n{\"key\":\"password\",\n\"value\":{\n\"stringValue\":\"canary\"}},",
            "shown\npassword:\n  canary", "shown\nprivate_key: |\n  canary\n  canary",
            "shown\n{\"password\": {\n\"x\": \"canary\"", "shown\n\"password\": \"begins\ncanary",
            #"m=shown "in":"{\"password\":\"canary\"}","#,
            "shown\n" + #"{\u0022password\u0022:\u0022canary\u0022"#,
            #"{"m":"shown","in":"{\"a\":\"{\\\"password\\\":\\\"can\\\\\\\"ary\\\"}\"}"}"#,
            "m=shown\nback=https%3A%2F%2Fa%2F%3Ftoken%3Dcanary",
            "shown <password>canary</password>",
            "m=shown password=ab,canary;canary)canary", "shown --api-token canary",
            #"shown {'password' => 'canary'}"#, "shown user[password]=canary",
            "shown\n-----BEGIN EC PRIVATE KEY-----\ncanary\n-----END EC PRIVATE KEY-----",
            "shown Bearer canary01canary", "shown eyJjYW5hcnkiOjF9.canary.canary",
            "shown\nkey: [0123456789abcdef0,\n  canary]", "shown Bearer\t Canary0123456789",
            "shown --password\t canary", "shown '--password' canary", "shown\npassword: >-\ncanary",
            "shown\npassword: >+\ncanary",
            "shown\r\npassword:\r\n canary", "shown\nAuthorization: Bearer\r\n canary",
            "shown\nAuthorization: Bearer\n canary", "shown\npassword: abc\n  canary\nm",
            "shown password\(String(repeating: " ", count: 40))= canary",
            "shown\n\u{1b}[1mpin\u{1b}[0m=\u{1b}[32mcanary\u{1b}[0m", "shown **password**: canary",
            "shown password['x']=canary", "shown\n{&quot;password&quot;:&quot;canary&quot;}",
            #"{"m":[{"type":"password","value":"canary"}],"n":"shown"}"#,
            #"{"m":[{"id":"otp","val":"canary"},{"param":"pin","v":"canary"}],"n":"shown"}"#,
            "shown\n\"n\":\"password\",\"value\":\"canary\"",
            "shown\n\"id\":\"password\",\n\"value\":\"canary\"",
            "shown\nPuTTY-User-Key-File-2: x\nPrivate-Lines: 1\ncanary",
            "shown\n---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\ncanary\n---- END",
            "shown AGE-SECRET-KEY-1canary",
            #"{"m":"shown","rawHeaders":["Host","a","Authorization","canary"]}"#,
            #"{"m":"shown","argv":["mysql","--password","canary","-v"]}"#,
            #"{"m":"shown","a":[["password","canary",1]]}"#,
            #"shown ["mysql", "--password", "canary""#,
            #"shown <input value="canary" name=password>"#,
            #"shown <input type=password value="canary">"#,
            "shown\n&lt;password&gt;canary&lt;/password&gt;", "shown\npassword&#61;canary",
            "shown\npassword&#x3d;canary", "shown\na%25252526password%2525253Dcanary",
            "cookie: a=canary; b=canary\nshown", #"m=shown "password" : "\\"# + #"\"canary""#,
        ]
    )
    func shapes(text: String) {
        let shown = shown(text)
        #expect(!shown.contains("canary") && !shown.contains("ary"), "\(shown)")
        #expect(shown.contains("shown"), "\(shown)")
        #expect(shown.contains("[redacted "))
    }

    @Test(
        "Control characters between letters hide no secret",
        arguments: [
            "pass\0word=canary", "pass\u{8}\u{8}ssword=canary", #"{"m":"pass\u0000word=canary"}"#,
            #"{"m":"p\u0000a\u0000s\u0000s\u0000w\u0000o\u0000r\u0000d\u0000=canary"}"#,
            #"in "p\u0000assword=canary"#, #"{"pass\u0000word":"canary"}"#,
        ]
    )
    func controls(text: String) {
        #expect(!shown(text).contains("canary"), "\(shown(text))")
        let wide = String(decoding: text.utf8.flatMap { [$0, 0] }, as: UTF8.self)
        let plain = shown(wide).replacing("\0", with: "")
        #expect(!plain.contains("canary"), "UTF-16: \(plain)")
    }

    @Test("A known secret is found in UTF-16, too")
    func wide() {
        let secret = Secret("wide-canary-0123456789")
        let wide = String(
            decoding: "x wide-canary-0123456789".utf8.flatMap { [$0, 0] },
            as: UTF8.self
        )
        #expect(!Mask.hidingKnownSecrets(in: wide).replacing("\0", with: "").contains("canary"))
        #expect(!shown(wide).replacing("\0", with: "").contains("canary"))
        #expect(secret.byteCount == 22)
    }

    @Test(
        "The names of secrets are masked, and names that only look like one are not",
        arguments: [
            "pwd", "jwt", "otp", "pin", "cvv", "private_key", "auth", "x-auth", "userPin",
            "PINCode", "pin_1",
            "db.pass", "accessKeySecret", "Access-Key", "api_key", "clientSecret", "sessionId",
            "userpwd", "pincode", "totp", "mfa_code", "csrf", "connect.sid", "PHPSESSID",
        ]
    )
    func names(name: String) {
        #expect(shown(#"{"\#(name)":"canary","m":1}"#).contains("canary") == false)
        #expect(shown("\(name)=canary").contains("canary") == false)
        for name in [
            "spin", "author", "pinned", "opinion", "compass", "monkey", "passenger", "design",
        ] {
            #expect(shown("\(name)=1") == "\(name)=1")
            #expect(shown(#"{"\#(name)":"1"}"#) == #"{"\#(name)":"1"}"#)
        }
    }

    @Test(
        "Text without secrets stays as it is",
        arguments: [
            "GET /logs 200 in 12 s: fine",
            #"{ "a" : [1.50, "x:y", null], "key": {"b":"c=d"} }"#.replacing("key", with: "k2"),
            "12:30:01 error: it's a basic function, see https://host:443/@name", "a&b=1;c",
            #"{"key":"service.name","value":{"stringValue":"app"}}"#, "x\r\n\r\ny: \u{1b}[0m",
            "eyebrows.raised", #"{"key":"Enter","s":1.5,"ak":"two words, but long"}"#,
            "key=Enter s=1 ak='x'", "<key>Enter</key>", "key: [1, 2]\nnext", "* a: 1\n* b: 2",
            "invalid token\nGET /x", "it's a basic function\n  and more",
            #"{"type":"session","id":"token_refresh","n":1}"#, "type=session user=bob",
            "\u{1b}[32mINFO\u{1b}[0m: a > b: c &amp; d", #"path=C:\x\y m="a \"quoted\" b""#,
        ]
    )
    func unchanged(text: String) {
        #expect(shown(text) == text)
    }

    @Test("A known secret with a quote and a backslash is masked at each level of strings")
    func escaped() {
        let canary = #"quote"canary\0123456789"#
        let secret = Secret(canary)
        var text = canary
        for level in 0..<5 {
            for text in [text, "sent \(text)", "{\"x\":\(text)", "{\"x\":\"\(text)\"}"] {
                #expect(!shown(text).contains("canary"), "\(level): \(shown(text))")
                let known = Mask.hidingKnownSecrets(in: text)
                #expect(!known.contains("canary"), "\(level): \(known)")
            }
            text = jsonQuoted(text)
        }
        #expect(!shown("{\(jsonQuoted(canary)):1}").contains("canary"), "a name")
        #expect(secret.byteCount == canary.utf8.count)
    }

    @Test("Quotes that are escaped ever more often are masked within the time limit")
    func levels() {
        let run = (60..<380).map { "key=\(String(repeating: "\\", count: $0))\"" }.joined()
        #expect(!shown("\(run)\ntoken=canary").contains("canary"))
    }

    @Test("What the process keeps secret is masked wherever it stands, also where a limit cut it")
    func known() {
        let canary = "canary/0123+456789=abcdef"
        do {
            let secret = Secret(canary)
            for text in [
                canary, "a\(canary)b", "say \(canary), say \(canary)", #"{"x":"\#(canary)"}"#,
                #"{"x":"\#(canary.replacing("/", with: "\\/"))"#, "x=\(percentEncoded(canary))",
            ] {
                let shown = shown(text)
                #expect(!shown.contains("canary") && !shown.contains("56789"), "\(shown)")
            }
            let cut = "cut \(canary.prefix(12))"
            for text in [
                cut, #"{"x":"\#(cut)"}"#, "x=\(percentEncoded(String(canary.prefix(12))))",
            ] {
                let shown = Mask.hidingSecrets(in: text, isCut: true)
                #expect(!shown.contains("canary"), "\(shown)")
            }
            #expect(!Mask.query(Array("x=canary%2F01".utf8), isCut: true).contains("canary"))
            #expect(shown(cut) == cut, "only a limit leaves the beginning of a secret")
            #expect(secret.byteCount == canary.utf8.count)
        }
        #expect(shown("a\(canary)b") == "a\(canary)b", "it is forgotten with its last copy")
    }

    @Test(
        "Long runs of one piece are masked within the time limit",
        arguments: [
            "\\", "\"", "key:\"", "=", ":", "%25", ",\"", "<", "{", "[{\"", "://", "--pin ",
            ":=", "a:", "\":", "`:", "*:", "]:", "\u{1b}[0m=", "<a>", "> <", "--x ", "key=",
            "name=\"",
            "-----BEGIN ", "eyJ", "eyJhbGciOiJ.", "s=x ",
        ]
    )
    func runs(piece: String) {
        let run = String(repeating: piece, count: (64 << 10) / piece.utf8.count)
        #expect(!shown("password=\(run)\ntoken=canary").contains("canary"))
    }

    @Test(
        "A weak name hides a value that looks like a secret",
        arguments: [
            #"{"key":"canary0123456789","m":1}"#, "m=1 key=canary0123456789",
            #"{"a":[{"key":"ak","value":"canary0123456789"}]}"#, "<key>canary0123456789</key>",
            #"m=1 "s":"canary0123456789","#, #"["key","canary0123456789"]"#,
        ]
    )
    func weakNames(text: String) {
        #expect(!shown(text).contains("canary"), "\(shown(text))")
        #expect(!Mask.query(Array("key=canary".utf8)).contains("canary"), "a query hides all")
    }

    @Test("A private key behind the beginning of a token is masked")
    func keyBehindToken() {
        let text = "eyJhbGciOiJ-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"
        #expect(!shown(text).contains("canary"))
    }

    /// The shortest time of some rounds, since others may use the machine.
    /// The time of this thread's processor: other programs run meanwhile.
    private func time(_ work: () -> Void) -> Duration {
        func now() -> Duration {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        return (0..<5).map { _ in
            let start = now()
            work()
            return now() - start
        }.min() ?? .zero
    }

    @Test("Four times the text takes no more than twelve times the work")
    func linear() {
        let secrets = (0..<1000).map { Secret("sk_many_canary\(1000 + $0)") }
        for piece in ["eyJ", "eyJhbGciOiJ.", "sk_many_", "sk_many_canary1007 "] {
            let text = { (bytes: Int) in
                Array(String(repeating: piece, count: bytes / piece.utf8.count).utf8)
            }
            let (small, large) = (text(4 << 10), text(16 << 10))
            let short = time { _ = Mask.hidingSecrets(in: small) }
            let long = time { _ = Mask.hidingSecrets(in: large) }
            let ratio = long / short
            #expect(ratio < 12, "\(piece): \(ratio)")
            let shown = String(decoding: Mask.hidingSecrets(in: small), as: UTF8.self)
            #expect(!shown.contains("canary"))
        }
        #expect(secrets.count == 1000)
    }

    @Test("Of many secrets with one beginning, each is found and forgotten by itself")
    func sameBeginning() {
        var secrets = (0..<1000).map { Secret("sk_same_canary\(1000 + $0)") }
        #expect(!shown("a sk_same_canary1777 b").contains("canary"))
        #expect(shown("a sk_same_canary9999 b") == "a sk_same_canary9999 b")
        let copy = Secret("sk_same_canary1000")
        secrets.removeAll()
        #expect(!shown("a sk_same_canary1000 b").contains("canary"), "a copy is left")
        #expect(shown("a sk_same_canary1777 b").contains("canary1777"))
        #expect(copy.byteCount == 18)
    }

    @Test("Beyond the budget of digests the rest of a text counts as secret")
    func budget() {
        let secrets = (1...500).map { Secret("sk_long_" + String(repeating: "x", count: $0)) }
        let text = "shown " + String(repeating: "sk_long_", count: 100)
        let ranges = Array(text.utf8).withUnsafeBytes { KnownSecrets.ranges(in: $0) }
        #expect(ranges == [6..<text.utf8.count])
        #expect(secrets.count == 500)
    }

    /// A generated text with secrets. Each secret contains "canary".
    private struct Writer {
        private static let names = [
            "password", "api_key", "token", "pwd", "otp", "clientSecret", "x-auth", "private_key",
        ]
        var dice: SeededRandom

        mutating func pick<Item>(_ items: [Item]) -> Item { items.randomElement(using: &dice)! }

        private mutating func value() -> String {
            "canary"
                + (0..<Int.random(in: 0...4, using: &dice)).map { _ in
                    pick(["x", " ", "\"", "\\", "'", "{", "}", ":", "=", "\n", "é", ",", "\u{1}"])
                }.joined() + "canary"
        }

        private func json(_ text: String, _ dice: inout SeededRandom) -> String {
            let plain = String(decoding: (try? JSONEncoder().encode(text)) ?? Data(), as: UTF8.self)
            guard let letter = text.unicodeScalars.first, letter.isASCII, Bool.random(using: &dice)
            else { return plain }
            let code = String(letter.value, radix: 16)
            return "\"\\u" + String(repeating: "0", count: 4 - code.count) + code
                + plain.dropFirst(2)
        }

        mutating func object(_ depth: Int = 0) -> String {
            let (name, secret) = (pick(Self.names), value())
            let member: String
            switch Int.random(in: 0..<(depth < 3 ? 6 : 4), using: &dice) {
            case 0, 1: member = "\(json(name, &dice)): \(json(secret, &dice))"
            case 2:
                member =
                    #""a":[{"key":\#(json(name, &dice)),"value":{"stringValue":\#(json(secret, &dice))}}]"#
            case 3: member = "\(json(name, &dice)):{\"x\":[\(json(secret, &dice))]}"
            case 4: member = "\"nested\":\(object(depth + 1))"
            default: member = "\"text\":\(json(object(depth + 1), &dice))"
            }
            return "{\(pick(["", " ", "\"n\":1,"]))\(member)\(pick(["", ",\"m\":\"x\"", " "]))}"
        }

        mutating func line() -> String {
            let name = pick(Self.names)
            let plain = "canary" + pick(["", "7", "+=", "-x"])
            switch Int.random(in: 0..<9, using: &dice) {
            case 0: return "ts=1 \(name)=\(plain) m=x"
            case 1: return "ts=1 \(name)=\"\(plain) \\\" \(plain)\" m=x"
            case 2: return "\(name): \(plain)"
            case 3: return "\(name) = '\(plain)'"
            case 4: return "GET https://u:\(plain)@host/?x=1&\(name)=\(plain)&y=2"
            case 5: return "Authorization: Bearer \(plain)"
            case 6: return #"{"broken":"a"b","n":1}"#
            case 7: return "<\(name)>\(plain)</\(name)>"
            default: return object()
            }
        }
    }

    @Test("Generated texts show no secret, whole or damaged around it")
    func generated() {
        var writer = Writer(dice: SeededRandom(seed: 43))
        for round in 0..<1500 {
            let lines = (0..<Int.random(in: 1...4, using: &writer.dice)).map { _ in writer.line() }
            let text = lines.joined(separator: "\n")
            let shown = shown(text)
            #expect(!shown.contains("canary"), "\(round): \(text)\n->\n\(shown)")
            // The end of a body may be cut anywhere.
            let cut = String(text.prefix(Int.random(in: 0...text.count, using: &writer.dice)))
            #expect(
                !self.shown(cut).contains("canary"),
                "\(round), cut: \(cut)\n->\n\(self.shown(cut))"
            )
        }
    }
}
