import Glibc
import System
import TestSupport
import Testing

@testable import Credentials
@testable import Crypto

@Suite struct SecretBoxTests {
    private let hexKey = String(repeating: "0123456789abcdef", count: 4)

    private let passphrase = String(repeating: "a passphrase of many words ", count: 2)

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
            try box.open([3] + sealed, name: "default")
        }
    }

    @Test("Another key is told from a changed content")
    func otherKey() throws {
        let keys = [hexKey, passphrase, passphrase + "!"]
        for (key, other) in zip(keys, keys[1...] + keys[..<1]) {
            let sealed = try box(key).seal(pushed, name: "default")
            let other = try box(other)
            #expect(throws: SecretBoxProblem.otherKey) { try other.open(sealed, name: "default") }
        }
    }

    @Test("Scrypt agrees with RFC 7914")
    func slowDerivation() {
        let key = Array("pleaseletmein".utf8).withUnsafeBytes {
            Scrypt.key(
                from: $0,
                salt: Array("SodiumChloride".utf8),
                cost: 16_384,
                blockSize: 8,
                parallel: 1
            )
        }
        #expect(
            key.withBytes { hex($0) }
                == "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
        )
    }

    @Test("A passphrase is salted, and one salt is gone on with")
    func salted() throws {
        let box = try box(passphrase)
        let sealed = box.seal(pushed, name: "default")
        #expect(sealed.first == 2)
        #expect(try box.open(sealed, name: "default") == pushed)
        for index in 0..<40 {
            var changed = sealed
            changed[index] ^= 0x40
            guard index > 16 else { continue }
            #expect(throws: SecretBoxProblem.self) { try box.open(changed, name: "default") }
        }
        let later = try self.box(passphrase)
        let other = later.seal(pushed, name: "default")
        #expect(other[1..<17] != sealed[1..<17], "another gateway has another salt")
        #expect(try later.open(sealed, name: "default") == pushed)
        #expect(later.seal(pushed, name: "default")[1..<17] == sealed[1..<17])
        #expect(try box.open(other, name: "default") == pushed)
    }

    @Test(
        "What was sealed before passphrases were salted opens still",
        arguments: [
            (
                String(repeating: "a passphrase of many words ", count: 2),
                "0181d349b412a3dfaa6e87bd70e40200b83cab263575326cde7361fcf711897774fc4ce17f5a"
                    + "f8b7fdb19f1b50cb035cd8fbda19f997f75072e212a5c525aca6c2b6d4290de1b1959c144ddd"
                    + "e497e1730b4b5f56e31c07fc46cff495af95151145f18e4d5e749b1a770dd733c240f26e6411"
                    + "e81188f5744c94de95da1bed74f5ffd1547bcf4adab6923b"
            ),
            // 32 bytes that are no plain text were the key itself.
            (
                "абвгдежзийклмноп",
                "01e696a5803300a66ed88a6d0f336e096822f8047b7b7216fd921a1d2778e01295bb64661b19"
                    + "4ed0d1d5cc7b27e32c375d0f7a69035164fdb91100ecfadc338645f2dec4e5384c9b3030460d"
                    + "bb1806e04cb04b88bd1b24beff212b505bddb7665f9c7f32a983ea88f55e3c1615451fbf5512"
                    + "d788bc3e8cc99568e1ea80cc9c8788165049373aae187d79"
            ),
        ]
    )
    func oldForm(key: String, digits: String) throws {
        let box = try box(key)
        #expect(try box.open(bytes(digits), name: "default") == pushed)
        #expect(box.seal(pushed, name: "default").first == 2)
    }

    @Test("A key may be written in several ways")
    func keys() throws {
        let raw = (0..<32).map { UInt8($0) }
        let digits = try SealingKey(Secret(hex(raw)))
        let base64 = try SealingKey(Secret(Digest.base64(raw)))
        #expect(digits.plainBytes == base64.plainBytes)
        #expect(digits.plainBytes == raw.withUnsafeBytes { Secret(copying: $0) })
        #expect(!digits.isPassphrase)
        let words = try SealingKey(Secret(passphrase))
        #expect(words.isPassphrase)
        let salts = [1, 2].map { [UInt8](repeating: $0, count: Scrypt.saltBytes) }
        #expect(words.bytes(salt: salts[0]) != words.bytes(salt: salts[1]))
        for short in ["", "short", String(passphrase.prefix(31))] {
            #expect(throws: SecretBoxProblem.keyTooShort) { try SealingKey(Secret(short)) }
        }
        #expect(throws: SecretBoxProblem.keyTooSimple) {
            try SealingKey(Secret(String(repeating: "w", count: 32)))
        }
    }

    private func bytes(_ digits: String) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
    }
}

/// Where secrets lie.
@Suite struct SecretMemoryTests {
    private let unlockable: @Sendable (UnsafeRawPointer, Int) -> CInt = { _, _ in
        errno = ENOMEM
        return -1
    }

    private func copy(_ text: String, to memory: SecretMemory) -> SecretMemory.Block {
        Array(text.utf8).withUnsafeBytes { memory.copy($0) }
    }

    @Test("A thousand keys share pages of 64 KiB, and locking takes no more than these")
    func shared() {
        let locked = SharedValue(0)
        let memory = SecretMemory(pageBytes: 64 << 10) { _, count in
            locked.change { $0 += count }
            return 0
        }
        let texts = (0..<1000).map { "key-\($0)-of-about-forty-characters-in-all" }
        var blocks = texts.map { copy($0, to: memory) }
        #expect(memory.pageCount == 1 && locked.now == 64 << 10)
        for (block, text) in zip(blocks, texts) { #expect(block.bytes.elementsEqual(text.utf8)) }
        // What is free is used again, and pages without secrets go.
        blocks.removeSubrange(200..<700)
        blocks += texts[200..<700].map { copy($0, to: memory) }
        #expect(memory.pageCount == 1)
        let large = String(repeating: "x", count: 100_000)
        var extra: SecretMemory.Block? = copy(large, to: memory)
        #expect(extra?.bytes.elementsEqual(large.utf8) == true && memory.pageCount == 2)
        extra = nil
        #expect(memory.pageCount == 1)
        blocks = []
        #expect(memory.pageCount == 0)
    }

    @Test("The memory of a secret is wiped, and its neighbours' is not")
    func wiped() {
        let memory = SecretMemory(pageBytes: 4096) { _, _ in 0 }
        let neighbour = copy("neighbour", to: memory)
        var secret: SecretMemory.Block? = copy(String(repeating: "s", count: 60), to: memory)
        let place = secret?.bytes
        secret = nil
        #expect(place?.allSatisfy { $0 == 0 } == true)
        #expect(neighbour.bytes.elementsEqual("neighbour".utf8))
    }

    @Test("Memory that cannot be locked is told once, to a listener that came before or after")
    func unlocked() {
        for comesLate in [false, true] {
            let told = SharedValue<[SystemError]>([])
            let memory = SecretMemory(pageBytes: 4096, lock: unlockable)
            let large = String(repeating: "x", count: 5000)
            var blocks = comesLate ? [copy(large, to: memory)] : []
            memory.onLockFailure { error in told.change { $0.append(error) } }
            blocks += (0..<3).map { _ in copy(large, to: memory) }
            #expect(told.now == [SystemError(call: "mlock", code: ENOMEM)])
            #expect(blocks.allSatisfy { $0.bytes.elementsEqual(large.utf8) })
        }
    }
}
