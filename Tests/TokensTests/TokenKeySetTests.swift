import System
import Testing

@testable import Tokens

@Suite struct TokenKeySetTests {
    private static let rsa =
        #""kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ","e":"AQAB""#
    private static let ec =
        #""kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0""#

    private func set(_ keys: String..., algorithm: TokenAlgorithm = .es256) throws -> TokenKeySet {
        let text = #"{"keys":[\#(keys.map { "{\($0)}" }.joined(separator: ","))]}"#
        return try TokenKeySet(Array(text.utf8), algorithm)
    }

    private func fetched(_ set: TokenKeySet?, began: Moment = .now) -> FetchedTokenKeys {
        let keys = FetchedTokenKeys {}
        if let set { _ = keys.take(set, began: began, at: .now) }
        return keys
    }

    @Test("Published keys verify what their halves have signed (RFC 7515, A.2 and A.3)")
    func examples() throws {
        for (key, algorithm, token) in [
            (Self.rsa, TokenAlgorithm.rs256, Samples.rs256), (Self.ec, .es256, Samples.es256),
        ] {
            // One for encryption, one of another kind and one of another algorithm are passed over.
            let set = try set(
                key + #","kid":"a","use":"sig","x5c":["MII"],"n2":{"a":[1]}"#,
                key + #","kid":"b","use":"enc""#,
                #""kty":"oct","kid":"c","k":"AAAA""#,
                key + #","kid":"d","alg":"PS512""#,
                algorithm: algorithm
            )
            #expect(set.count == 1)
            let rules = TokenRules(algorithm: algorithm, keys: [])
            let bytes = Array(token.utf8)
            let keys = fetched(set)
            let verified = try rules.verify(bytes[...], at: Samples.now, fetched: [keys])
            #expect(verified.key == 0)
            // The last character of the signature's first half is another one.
            var other = bytes
            other[other.count - 60] ^= 1
            #expect(throws: TokenProblem.self) {
                try rules.verify(other[...], at: Samples.now, fetched: [keys])
            }
        }
    }

    @Test(
        "What is no set, or has no key that fits, says so",
        arguments: [
            ("", "is not a JSON Web Key Set"), ("[]", "is not a JSON Web Key Set"),
            ("{}", "is not a JSON Web Key Set"), (#"{"keys":{}}"#, "is not a JSON Web Key Set"),
            (#"{"keys":[1]}"#, "is not a JSON Web Key Set"),
            (#"{"keys":[]} x"#, "is not a JSON Web Key Set"),
            (#"{"keys":[]}"#, "has no key for ES256: EC on P-256"),
            (#"{"keys":[{\#(rsa)}]}"#, "has no key for ES256"),
            // Not on the curve, another curve, too short.
            (#"{"keys":[{\#(ec.replacing("f83O", with: "f83P"))}]}"#, "has no key for ES256"),
            (#"{"keys":[{\#(ec.replacing("P-256", with: "P-384"))}]}"#, "has no key for ES256"),
            (#"{"keys":[{\#(ec.replacing("f83OJ3", with: ""))}]}"#, "has no key for ES256"),
            (#"{"keys":[{\#(ec),"kid":"\#(String(repeating: "k", count: 257))"}]}"#, "has no key"),
        ]
    )
    func mistakes(text: String, part: String) {
        let error = #expect(throws: TokenKeySetProblem.self) {
            try TokenKeySet(Array(text.utf8), .es256)
        }
        #expect(error?.description.hasPrefix(part) == true, "\(error?.description ?? "")")
    }

    @Test("A short or endless RSA key is none, and too many keys are too many")
    func bounds() {
        let short = Self.rsa.replacing("ofgWCuLjybRlzo0tZWJj", with: "")
        let long = Self.rsa.replacing("AQAB", with: String(repeating: "AQAB", count: 6))
        for key in [short, long] {
            #expect(throws: TokenKeySetProblem.self) { try set(key, algorithm: .rs256) }
        }
        let many = (0...TokenKeySet.keysMax).map { #"{\#(Self.ec),"kid":"\#($0)"}"# }
        let error = #expect(throws: TokenKeySetProblem.self) {
            try TokenKeySet(Array(#"{"keys":[\#(many.joined(separator: ","))]}"#.utf8), .es256)
        }
        #expect(error?.description.contains("the limit is 64") == true)
    }

    @Test("A key that is not here is awaited, asked for once, and unknown after a later fetch")
    func awaited() throws {
        let wakes = Locked(0)
        let keys = FetchedTokenKeys { wakes.withLock { $0 += 1 } }
        let start = Moment.now
        #expect(keys.find("a", at: start) == .awaited)
        let one = try set(Self.ec + #","kid":"a""#)
        #expect(keys.take(one, began: start, at: .now))
        guard case .key = keys.find("a", at: start) else { return #expect(Bool(false)) }
        #expect(keys.find("b", at: start + .seconds(1)) == .awaited)
        #expect(keys.find("b", at: start + .seconds(2)) == .awaited)
        #expect(wakes.withLock { $0 } == 1)
        #expect(keys.takeWish() && !keys.takeWish())
        // It began before anybody asked, so it says nothing.
        #expect(!keys.take(one, began: start, at: .now))
        #expect(keys.find("b", at: start + .seconds(3)) == .awaited)
        #expect(!keys.take(one, began: start + .seconds(4), at: .now))
        #expect(keys.find("b", at: start + .seconds(5)) == .unknown)
        // An issuer may publish a key after it began to sign with it.
        #expect(keys.find("b", at: start + .seconds(64)) == .awaited)
        // A failure changes nothing.
        keys.fail("away")
        guard case .key = keys.find("a", at: start) else { return #expect(Bool(false)) }
        #expect(keys.status.problem == "away" && keys.status.failures == 1)
        // Nobody can fill the memory with names.
        for number in 0..<10_000 { _ = keys.find("x\(number)", at: start) }
        #expect(keys.find(String(repeating: "k", count: 257), at: start) == .unknown)
    }

    @Test("A token whose key is awaited is no bad token, and one of a key taken back is")
    func memory() throws {
        let keys = FetchedTokenKeys {}
        let memory = TokenMemory(TokenRules(algorithm: .es256, keys: []), fetched: [keys])
        let token = Array(Samples.es256.utf8)
        func outcome() -> TokenProblem? {
            do throws(TokenProblem) {
                _ = try memory.verify(token[...], at: Samples.now)
                return nil
            } catch {
                return error
            }
        }
        #expect(outcome() == .keysAwaited)
        _ = keys.take(try set(Self.ec), began: .now, at: .now)
        #expect(outcome() == nil)
        #expect(memory.count == 1)
        #expect(outcome() == nil)
        // The token names no key, and there are two now.
        _ = keys.take(
            try set(Self.ec + #","kid":"a""#, Self.ec + #","kid":"b""#),
            began: .now,
            at: .now
        )
        #expect(outcome() == .untrusted)
    }
}

@Suite struct PublicKeyTests {
    /// 1024 bits, from `openssl genrsa`.
    private static let shortRSA = """
        -----BEGIN PUBLIC KEY-----
        MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDLTqhC97R4J94Ew1d9v3pmiBge
        wIsuOYbElvShmvlmO23G5X1uxOgrDhTofpTm0uxy9n7gqE2rylZXcGem7TR6Epj2
        mdyEQsLVEkMcuAZ2NwkUTLt87wT5G2CuZ7S6BdjW6cu5j1tcB085N1JkUFiiiNME
        NSsI9tqzTLPKVQw9TQIDAQAB
        -----END PUBLIC KEY-----
        """
    private static let otherCurve = """
        -----BEGIN PUBLIC KEY-----
        MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAElevR0lebzVN8qxpY5bRQWxz3n5wEKgiD
        gFfVU6nxwwDFaWRzM3d7JpdK4iGndQJwoToFrh+hqTbVayQZRTa6RLjR6w+miDSM
        VRhBCwyIgO3iQKVXeOev+kGh7QoofpxI
        -----END PUBLIC KEY-----
        """

    @Test("A key fits its algorithm, or says what would")
    func fits() throws {
        for (text, algorithm, part) in [
            (Samples.ecPEM, TokenAlgorithm.rs256, "RS256 wants an RSA key of 2048 bits"),
            (Samples.rsaPEM, .es256, "ES256 wants an EC key on P-256"),
            (Self.shortRSA, .rs256, "RS256 wants an RSA key of 2048 bits"),
            (Self.otherCurve, .es256, "ES256 wants an EC key on P-256"),
            ("", .rs256, "openssl pkey -in KEY -pubout"),
            ("text", .es256, "not a public key in PEM"),
            (
                Samples.rsaPEM.replacing("PUBLIC", with: "PRIVATE"), .rs256,
                "not a public key in PEM"
            ),
        ] {
            let error = #expect(throws: PublicKeyProblem.self) {
                try PublicKey(Array(text.utf8), algorithm)
            }
            #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
        }
        let (one, other) = (
            try PublicKey(Array(Samples.ecPEM.utf8), .es256),
            try PublicKey(Array(Samples.ecPEM.utf8), .es256)
        )
        #expect(one == other)
    }

    @Test("A signature of another length is none")
    func lengths() throws {
        for (text, algorithm) in [(Samples.ecPEM, TokenAlgorithm.es256), (Samples.rsaPEM, .rs256)] {
            let key = try PublicKey(Array(text.utf8), algorithm)
            for count in [0, 1, 32, 63, 64, 65, 128, 255, 256, 257, 4096] {
                for byte in [0, 1, 0xFF] as [UInt8] {
                    let signature = [UInt8](repeating: byte, count: count)
                    #expect(!key.verifies([1, 2, 3], signature))
                }
            }
        }
    }
}
