import SLS
import System
import Testing

@testable import Credentials

@Suite struct SecretBoxTests {
    private let hexKey = String(repeating: "0123456789abcdef", count: 4)

    private func box(_ key: String) throws -> SecretBox {
        SecretBox(key: try SealingKey(Secret(key)))
    }

    private let pushed = PushedCredential(
        Samples.supplied(lasting: .seconds(3600)),
        activation: Samples.now + .seconds(60)
    )

    @Test("AES-256-GCM agrees with NIST's vectors")
    func vectors() throws {
        // The GCM specification's test cases 14 and 16.
        let zero = [UInt8](repeating: 0, count: 32)
        let first = zero.withUnsafeBytes {
            AESGCM.seal(
                Array(zero.prefix(16)),
                key: $0,
                nonce: Array(zero.prefix(12)),
                associated: []
            )
        }
        #expect(hex(first) == "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919")

        let key = bytes("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308")
        let plain = bytes(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
        )
        let nonce = bytes("cafebabefacedbaddecaf888")
        let associated = bytes("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        let sealed = key.withUnsafeBytes {
            AESGCM.seal(plain, key: $0, nonce: nonce, associated: associated)
        }
        #expect(
            hex(sealed)
                == "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
                + "76fc6ece0f4e1768cddf8853bb2d551b"
        )
        let opened = key.withUnsafeBytes {
            AESGCM.open(sealed[...], key: $0, nonce: nonce, associated: associated)
        }
        #expect(opened == plain)
    }

    @Test("HKDF agrees with RFC 5869's third case")
    func derivation() {
        // It has neither salt nor info; its output begins with these 32 bytes.
        let key = [UInt8](repeating: 0x0b, count: 22).withUnsafeBytes {
            SealingKey.derived(from: $0, purpose: "")
        }
        #expect(
            key.withBytes { hex($0) }
                == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"
        )
    }

    @Test("What is sealed opens again, and shows nothing")
    func roundTrip() throws {
        let box = try box(hexKey)
        for pushed in [pushed, PushedCredential(Samples.supplied(Samples.key))] {
            let sealed = box.seal(pushed, name: "default")
            #expect(try box.open(sealed, name: "default") == pushed)
            #expect(!String(decoding: sealed, as: UTF8.self).contains("canary"))
            #expect(box.seal(pushed, name: "default") != sealed)
        }
    }

    @Test("Any changed or missing byte is noticed")
    func tampering() throws {
        let box = try box(hexKey)
        let sealed = box.seal(pushed, name: "default")
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x40
            #expect(throws: SecretBoxProblem.self) { try box.open(changed, name: "default") }
            #expect(throws: SecretBoxProblem.self) {
                try box.open(Array(sealed[..<index]), name: "default")
            }
        }
        #expect(throws: SecretBoxProblem.changed) { try box.open(sealed, name: "other") }
        #expect(throws: SecretBoxProblem.changed) { try box.open(sealed + [0], name: "default") }
        #expect(throws: SecretBoxProblem.otherVersion) {
            try box.open([2] + sealed, name: "default")
        }
    }

    @Test("Another key is told from a changed content")
    func otherKey() throws {
        let sealed = try box(hexKey).seal(pushed, name: "default")
        let other = try box(String(repeating: "a passphrase of many words ", count: 2))
        #expect(throws: SecretBoxProblem.otherKey) { try other.open(sealed, name: "default") }
    }

    @Test("A key may be written in several ways")
    func keys() throws {
        let raw = (0..<32).map { UInt8($0) }
        let binary = try SealingKey(raw.withUnsafeBytes { Secret(copying: $0) })
        let digits = try SealingKey(Secret(hex(raw)))
        let base64 = try SealingKey(Secret(Digest.base64(raw)))
        #expect(binary.bytes == digits.bytes && digits.bytes == base64.bytes)
        #expect(binary.mark == base64.mark)
        let words = try SealingKey(Secret(String(repeating: "w", count: 32)))
        #expect(words.bytes.byteCount == 32)
        #expect(words.bytes != Secret(String(repeating: "w", count: 32)))
        for short in ["", "short", String(repeating: "w", count: 31)] {
            #expect(throws: SecretBoxProblem.keyTooShort) { try SealingKey(Secret(short)) }
        }
    }

    private func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }
}
