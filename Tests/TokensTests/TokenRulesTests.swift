import Crypto
import System
import Testing

@testable import Tokens

@Suite struct TokenRulesTests {
    private let rules: TokenRules

    init() throws {
        rules = try Samples.rules(.hs256)
    }

    @Test("The examples of RFC 7515 are good, until they end")
    func examples() throws {
        let bytes = try #require(Samples.secretBytes)
        let secret = bytes.withUnsafeBytes { Secret(copying: $0) }
        let rules = TokenRules(algorithm: .hs256, keys: [TokenKey(id: "a", .secret(secret))])
        let all = [
            (rules, Samples.hs256), (try Samples.rules(.rs256), Samples.rs256),
            (try Samples.rules(.es256), Samples.es256),
        ]
        for (var rules, token) in all {
            rules.issuer = "joe"
            let verified = try rules.verify(token)
            #expect(
                verified
                    == VerifiedToken(key: 0, end: 1_300_819_440, destinations: nil, subject: nil)
            )
            for (offset, expected) in [(59, nil), (60, TokenProblem.expired)] {
                let now = WallTime(seconds: Samples.end.seconds + Int64(offset))
                #expect(rules.problem(token, at: now) == expected)
            }
            rules.issuer = "jane"
            #expect(rules.problem(token) == .unfit)
        }
    }

    @Test("Of several keys with one name each is tried")
    func sameName() throws {
        let secrets = ["0", "1", "2"].map { String(repeating: $0, count: 32) }
        let keys = secrets[..<2].map { TokenKey(id: "k", .secret(Secret($0))) }
        let rules = TokenRules(algorithm: .hs256, keys: keys)
        let tokens = secrets.map { secret in
            Samples.token(
                #"{"exp":1300819380}"#,
                header: #"{"alg":"HS256","kid":"k"}"#,
                key: Array(secret.utf8)
            )
        }
        #expect(try rules.verify(tokens[0]).key == 0)
        #expect(try rules.verify(tokens[1]).key == 1)
        #expect(rules.problem(tokens[2]) == .untrusted)
    }

    @Test("No mutation of a token is taken, and no beginning of one")
    func mutations() throws {
        let all = [
            (rules, Samples.token(#"{"exp":1300819380,"sub":"phone 7"}"#)),
            (try Samples.rules(.rs256), Samples.rs256), (try Samples.rules(.es256), Samples.es256),
        ]
        for (rules, token) in all {
            let bytes = Array(token.utf8)
            for index in bytes.indices {
                for byte in [bytes[index] ^ 1, UInt8(ascii: "."), UInt8(ascii: "A"), 0xFF]
                where byte != bytes[index] {
                    var changed = bytes
                    changed[index] = byte
                    #expect(throws: TokenProblem.self, "\(index) of \(token)") {
                        try rules.verify(changed[...], at: Samples.now)
                    }
                }
                let start = String(decoding: bytes[..<index], as: UTF8.self)
                #expect(rules.problem(start) != nil, "\(start)")
            }
            for more in [".", ".a", "A", "=", " "] { #expect(rules.problem(token + more) != nil) }
        }
    }

    @Test("A token does not choose how it is checked")
    func confusion() throws {
        let claims = #"{"exp":1300819380}"#
        let rsa = try Samples.rules(.rs256)
        // The public key as a secret, which everybody knows.
        for header in [#"{"alg":"HS256"}"#, #"{"alg":"RS256"}"#] {
            let forged = Samples.token(claims, header: header, key: Array(Samples.rsaPEM.utf8))
            #expect(rsa.problem(forged) == .untrusted)
        }
        for algorithm in ["none", "None", "", "HS384", "hs256", "RS256", "PS256", "ES256"] {
            let header = #"{"alg":"\#(algorithm)"}"#
            #expect(rules.problem(Samples.token(claims, header: header)) == .untrusted)
            let unsigned = Samples.token(claims, header: header).split(separator: ".")
            #expect(rules.problem("\(unsigned[0]).\(unsigned[1]).") == .untrusted)
        }
        #expect(rsa.problem(Samples.es256) == .untrusted)
        #expect(try Samples.rules(.es256).problem(Samples.rs256) == .untrusted)
        // Keys that a token brings along are not looked at.
        let own = #"{"alg":"HS256","jwk":{"kty":"oct","k":"AAAA"}}"#
        #expect(rules.problem(Samples.token(claims, header: own, key: [0, 0, 0])) == .untrusted)
    }

    @Test("A key is chosen by its name, which may be left out where there is one only")
    func names() throws {
        var rules = rules
        let claims = #"{"exp":1300819380}"#
        #expect(rules.problem(Samples.token(claims)) == nil)
        let second = "second-secret-0123456789abcdef-0123456789"
        rules.keys.append(TokenKey(id: "other", .secret(Secret(second))))
        #expect(rules.problem(Samples.token(claims)) == .untrusted)
        let header = #"{"kid":"other","alg":"HS256"}"#
        let good = Samples.token(claims, header: header, key: Array(second.utf8))
        #expect(try rules.verify(good).key == 1)
        #expect(rules.problem(Samples.token(claims, header: header)) == .untrusted)
        for kid in [#""k2""#, "1", "null", #"["other"]"#] {
            let header = #"{"alg":"HS256","kid":\#(kid)}"#
            let token = Samples.token(claims, header: header, key: Array(second.utf8))
            #expect(rules.problem(token) == .untrusted)
        }
    }

    @Test(
        "What two readers could read differently is no token",
        arguments: [
            #"{"alg":"HS256","alg":"HS256"}"#, #"{"alg":"HS256","\u0061lg":"none"}"#,
            #"{"alg":"HS256","crit":[]}"#, #"{"alg":"HS256","crit":["exp"]}"#,
            #"{"alg":"HS256",}"#, #"{"alg":"HS256"} {}"#, #"["HS256"]"#, "", "null",
            #"{"alg":"HS256","x":{"a":1,"a":2}}"#, #"{"alg":"HS256","x":01}"#,
            #"{"alg":"HS256","x":+1}"#, #"{"alg":"HS256","x":1.}"#, #"{"alg":"HS256","x":.5}"#,
            #"{"alg":"HS256","x":1e}"#, #"{"alg":"HS256","x":nul}"#, #"{"alg":"HS256","x":-}"#,
            #"{"alg":"HS256","x":\#(String(repeating: "[", count: 9))"#
                + "\(String(repeating: "]", count: 9))}",
            "{\"alg\":\"HS256\",\"x\":\"\u{1}\"}", #"{"alg":"HS256","x":"\ud800"}"#,
        ]
    )
    func strict(header: String) {
        let token = Samples.token(#"{"exp":1300819380}"#, header: header)
        #expect(rules.problem(token) == .unreadable)
    }

    @Test("Claims are read as strictly, once the signature is right")
    func claims() {
        for claims in [
            #"{"exp":1300819380,"exp":9999999999}"#, #"{"exp":1300819380"#, "[]", "x",
            #"{"exp":1300819380,"aud":["a",]}"#, #"{"exp":0x99999999}"#,
        ] {
            #expect(rules.problem(Samples.token(claims)) == .unreadable, "\(claims)")
        }
        for claims in [
            "{}", #"{"exp":null}"#, #"{"exp":"1300819380"}"#, #"{"exp":-1}"#, #"{"exp":1e300}"#,
            #"{"exp":true}"#, #"{"exp":1300819380,"nbf":"0"}"#, #"{"exp":1300819380,"iat":{}}"#,
            #"{"exp":1300819380,"nbf":1300819061}"#, #"{"exp":1300819380,"iat":1300819061}"#,
            #"{"exp":1300819380,"aud":"logs"}"#, #"{"exp":1300819380,"aud":[]}"#,
        ] {
            #expect(rules.problem(Samples.token(claims)) == .unfit, "\(claims)")
        }
        for claims in [
            #"{"exp":1300819380.5,"nbf":1300819060,"iat":1.3e9,"a":[1,{"b":[null,-0.5E+2]}]}"#,
            " {\"exp\" : 1300818941 }\n",
        ] {
            #expect(rules.problem(Samples.token(claims)) == nil, "\(claims)")
        }
        #expect(rules.problem(Samples.token(#"{"exp":1300818940}"#)) == .expired)
    }

    @Test("A token is for us, or it is for others")
    func audience() {
        var rules = rules
        rules.audiences = ["logs", "https://logs.example.com"]
        for (audience, expected) in [
            (#""logs""#, nil), (#"["api","logs"]"#, nil), (#""https://logs.example.com""#, nil),
            (#""LOGS""#, TokenProblem.unfit), (#"["api"]"#, .unfit), ("[]", .unfit),
            (#"["logs",1]"#, .unfit), ("1", .unfit), ("null", .unfit),
        ] {
            let token = Samples.token(#"{"exp":1300819380,"aud":\#(audience)}"#)
            #expect(rules.problem(token) == expected, "\(audience)")
        }
        #expect(rules.problem(Samples.token(#"{"exp":1300819380}"#)) == .unfit)
    }

    @Test("A claim may name destinations, as a list or as scopes are")
    func destinations() throws {
        var rules = rules
        rules.destinationsClaim = "https://sluice/destinations"
        func token(_ value: String) -> String {
            Samples.token(#"{"exp":1300819380,"https://sluice/destinations":\#(value)}"#)
        }
        #expect(try rules.verify(token(#""app web""#)).destinations == ["app", "web"])
        #expect(try rules.verify(token(#"["app","web 2"]"#)).destinations == ["app", "web 2"])
        #expect(try rules.verify(token(#""""#)).destinations == [])
        for value in ["1", "[1]", "null", "{}"] {
            #expect(rules.problem(token(value)) == .unfit)
        }
        #expect(rules.problem(Samples.token(#"{"exp":1300819380}"#)) == .unfit)
    }

    @Test("A token of more than 8 KiB is not read")
    func size() {
        let text = String(repeating: "x", count: 8192)
        #expect(rules.problem(Samples.token(#"{"exp":1300819380,"x":"\#(text)"}"#)) == .unreadable)
        #expect(rules.problem(text) == .unreadable)
    }
}

@Suite struct TokenMemoryTests {
    private func verify(_ memory: TokenMemory, _ token: String, at now: WallTime = Samples.now)
        -> Result<VerifiedToken, TokenProblem>
    {
        Result { () throws(TokenProblem) in try memory.verify(Array(token.utf8)[...], at: now) }
    }

    @Test("A good token is remembered until it ends, a bad one not at all")
    func remembered() throws {
        let memory = TokenMemory(try Samples.rules(.es256))
        #expect(verify(memory, Samples.es256 + "A") == .failure(.untrusted))
        #expect(memory.count == 0)
        for _ in 0..<3 {
            #expect((try? verify(memory, Samples.es256).get())?.end == 1_300_819_440)
        }
        #expect(memory.count == 1)
        let late = WallTime(seconds: 1_300_819_440)
        #expect(verify(memory, Samples.es256, at: late) == .failure(.expired))
        let long = String(repeating: "a", count: 8193)
        #expect(verify(memory, long) == .failure(.unreadable))
    }

    @Test("There is room for so many, and those that are used stay")
    func bounded() throws {
        let memory = TokenMemory(try Samples.rules(.hs256), tokensMax: 40)
        let used = Samples.token(#"{"exp":1300819380}"#)
        for number in 0..<200 {
            let token = Samples.token(#"{"exp":1300819380,"jti":"\#(number)"}"#)
            #expect((try? verify(memory, token).get()) != nil)
            if number % 10 == 0 { #expect((try? verify(memory, used).get()) != nil) }
            #expect(memory.count <= 40)
        }
        #expect(memory.count > 20)
    }
}
