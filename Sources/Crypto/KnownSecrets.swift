import System

/// Finds the secrets that this process holds in text that is about to be shown. Every `Secret` registers itself, so that
/// no new kind of credential can be forgotten.
package enum KnownSecrets {
    /// Shorter values, such as an empty token, would be found in any text.
    package static let bytesMin = 8
    private static let markCount = 1 << 14

    /// Secrets by a part of the hash of their first bytes: too little of it to tell them.
    private struct Registry: Sendable {
        let seed = randomBytes(40)
        /// Set where a candidate may be; spares most positions the dictionary look-up. Never cleared.
        var marks = [Bool](repeating: false, count: markCount)
        /// Candidates by 24 hash bits of their first 8 bytes: too few bits to reveal the secret.
        var candidates: [UInt32: [Candidate]] = [:]

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

        /// The end of the longest secret that begins here.
        func end(in text: UnsafeRawBufferPointer, _ place: Int) -> Int? {
            let head = head(text, place)
            guard marks[Int(head) % markCount], let all = candidates[head] else {
                return nil
            }
            var end: Int?
            for candidate in all {
                let last = place + candidate.length
                let isFound = last > text.count || digest(text[place..<last]) == candidate.digest
                if isFound { end = max(end ?? 0, min(last, text.count)) }
            }
            return end
        }
    }

    private struct Candidate: Equatable, Sendable {
        let length: Int
        let digest: [UInt8]
    }

    private static let registry = Locked(Registry())

    /// Keeps a secret known as long as it lives.
    package final class Entry: Sendable {
        private let head: UInt32
        private let candidate: Candidate

        /// nil: it is too short.
        package init?(_ bytes: UnsafeRawBufferPointer) {
            guard bytes.count >= bytesMin else { return nil }
            (head, candidate) = registry.withLock { registry in
                let head = registry.head(bytes, 0)
                let candidate = Candidate(length: bytes.count, digest: registry.digest(bytes[...]))
                registry.marks[Int(head) % markCount] = true
                registry.candidates[head, default: []].append(candidate)
                return (head, candidate)
            }
        }

        deinit {
            registry.withLock { registry in
                guard let index = registry.candidates[head]?.firstIndex(of: candidate) else {
                    return
                }
                registry.candidates[head]?.remove(at: index)
                if registry.candidates[head]?.isEmpty ?? false { registry.candidates[head] = nil }
            }
        }
    }

    /// The ranges of known secrets, in order. At the text's end a prefix of 8 bytes counts, because a limit may have
    /// cut the rest.
    package static func ranges(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
        guard text.count >= bytesMin else { return [] }
        let known = registry.withLock { $0 }
        var ranges: [Range<Int>] = []
        var place = 0
        while place + bytesMin <= text.count {
            let end = known.end(in: text, place)
            if let end { ranges.append(place..<end) }
            place = end ?? place + 1
        }
        return ranges
    }
}
