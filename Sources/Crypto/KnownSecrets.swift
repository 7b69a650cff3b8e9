import System

/// Finds the secrets that this process holds in text that is about to be shown. Every `Secret`
/// registers itself, so that no new kind of credential can be forgotten.
package enum KnownSecrets {
    /// Shorter values, such as an empty token, would be found in any text.
    package static let bytesMin = 8
    private static let markCount = 1 << 14
    /// What may be hashed of a text: so many times its bytes, and some for a short one. The rest of
    /// a text that needs more counts as secret.
    private static let hashedPerByte = 16
    private static let hashedMin = 64 << 10
    /// What a digest costs besides its bytes, in bytes.
    private static let digestCost = 128

    /// Secrets by a part of the hash of their first bytes: too little of it to tell them.
    private struct Registry: Sendable {
        let seed = randomBytes(40)
        /// How many secrets use a mark. Marks spare most places of a text a dictionary look-up.
        var marks = [UInt32](repeating: 0, count: markCount)
        /// By head and length, so that a place needs one digest for each length: how many hold a
        /// secret.
        var secrets: [UInt32: [Int: [[UInt8]: Int]]] = [:]

        mutating func add(_ secret: Candidate) {
            marks[Int(secret.head) % markCount] += 1
            secrets[secret.head, default: [:]][secret.length, default: [:]][
                secret.digest,
                default: 0
            ] += 1
        }

        mutating func remove(_ secret: Candidate) {
            let (head, length, digest) = (secret.head, secret.length, secret.digest)
            marks[Int(head) % markCount] -= 1
            secrets[head]?[length]?[digest]? -= 1
            if secrets[head]?[length]?[digest] == 0 { secrets[head]?[length]?[digest] = nil }
            if secrets[head]?[length]?.isEmpty == true { secrets[head]?[length] = nil }
            if secrets[head]?.isEmpty == true { secrets[head] = nil }
        }

        func head(_ text: UnsafeRawBufferPointer, _ place: Int) -> UInt32 {
            let start = text.loadUnaligned(fromByteOffset: place, as: UInt64.self)
            let (key, factor) = seed.withUnsafeBytes {
                (
                    $0.loadUnaligned(as: UInt64.self),
                    $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                )
            }
            return UInt32(truncatingIfNeeded: ((start ^ key) &* (factor | 1)) >> 40)
        }

        func digest(_ bytes: Slice<UnsafeRawBufferPointer>) -> [UInt8] {
            Digest.hmacSHA256(key: seed, Array(bytes))
        }

        /// The end of the longest secret that begins here. `budget` is what may still be hashed.
        func end(
            in text: UnsafeRawBufferPointer,
            _ place: Int,
            _ isCut: Bool,
            _ budget: inout Int
        ) -> Int? {
            let head = head(text, place)
            guard marks[Int(head) % markCount] > 0, let lengths = secrets[head] else { return nil }
            var end: Int?
            for (length, digests) in lengths {
                let last = place + length
                guard last <= text.count else {
                    if isCut { return text.count }
                    continue
                }
                budget -= length + digestCost
                guard budget >= 0 else { return text.count }
                if digests[digest(text[place..<last])] != nil { end = max(end ?? 0, last) }
            }
            return end
        }
    }

    private struct Candidate: Sendable {
        let head: UInt32
        let length: Int
        let digest: [UInt8]
    }

    private static let registry = Locked(Registry())

    /// Keeps a secret known as long as it lives.
    package final class Entry: Sendable {
        private let candidate: Candidate

        /// nil: it is too short.
        package init?(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count >= bytesMin else { return nil }
            candidate = registry.withLock { registry in
                let candidate = Candidate(
                    head: registry.head(bytes, 0),
                    length: bytes.count,
                    digest: registry.digest(bytes[...])
                )
                registry.add(candidate)
                return candidate
            }
        }

        deinit {
            registry.withLock { $0.remove(candidate) }
        }
    }

    /// The places of secrets in the text, in order. `isCut`: a limit has cut its end, where the
    /// first eight bytes of a secret are enough.
    package static func ranges(
        in text: UnsafeRawBufferPointer,
        isCut: Bool = false
    ) -> [Range<Int>] {
        guard text.count >= bytesMin else { return [] }
        let known = registry.withLock { $0 }
        var budget = hashedMin + hashedPerByte * text.count
        var ranges: [Range<Int>] = []
        var place = 0
        while place + bytesMin <= text.count {
            let end = known.end(in: text, place, isCut, &budget)
            if let end { ranges.append(place..<end) }
            place = end ?? place + 1
        }
        return ranges
    }
}
