import Crypto
import HTTP
import SLS
import System

/// `x-sluice-signature`: proves that a request was signed with a key, without sending the key.
///
/// `v1,key=NAME,time=SECONDS,nonce=NONCE,body=SHA256,mac=MAC`, in this order, where MAC is the
/// HMAC-SHA256 of method, target, time, nonce and digest of the body, with a line feed between
/// them. Since the head has the digest, a forged request is refused before its body is read, and
/// costs the sender that it names nothing.
struct RequestSignature {
    static let form =
        "v1,key=NAME,time=SECONDS,nonce=NONCE,body=SHA256,mac=HMAC, with a nonce of 16 to 64 letters, digits, "
        + "- and _"

    let name: [UInt8]
    /// Since 1970.
    let seconds: Int64
    let nonce: [UInt8]
    let bodyDigest: [UInt8]
    let mac: [UInt8]
    /// As the client wrote them.
    private let signed: [ArraySlice<UInt8>]

    /// nil when the text has another form.
    init?(_ text: ArraySlice<UInt8>) {
        let parts = text.split(
            separator: UInt8(ascii: ","),
            maxSplits: 6,
            omittingEmptySubsequences: false
        )
        guard parts.count == 6, parts[0].elementsEqual("v1".utf8),
            let name = parts[1].following("key="),
            let time = parts[2].following("time="), (1...11).contains(time.count),
            time.allSatisfy({ (0x30...0x39).contains($0) }),
            let nonce = parts[3].following("nonce="), (16...64).contains(nonce.count),
            nonce.allSatisfy(\.isWordCharacter),
            let digest = parts[4].following("body="), digest.isLowerCaseHex,
            let bodyDigest = hexDecoded(digest), bodyDigest.count == 32,
            let code = parts[5].following("mac="), code.isLowerCaseHex,
            let mac = hexDecoded(code), mac.count == 32
        else { return nil }
        self.name = Array(name)
        seconds = time.reduce(0) { $0 * 10 + Int64($1 & 15) }
        self.nonce = Array(nonce)
        self.bodyDigest = bodyDigest
        self.mac = mac
        signed = [time, nonce, digest]
    }

    /// Does not check the body's digest, and does not use up the nonce.
    func check(
        _ head: RequestHead,
        _ secret: Secret,
        window: Duration
    ) throws(AccessProblem) {
        let target = head.bytes[head.path.lowerBound..<(head.query ?? head.path).upperBound]
        let text = ([head.methodName, target] + signed).joined(separator: [UInt8(ascii: "\n")])
        let code = secret.withBytes { Digest.hmacSHA256(key: $0, Array(text)) }
        guard Digest.areEqual(code, mac) else { throw .badSignature }
        let (time, now) = (seconds, head.arrival.seconds)
        guard abs(now - time) <= window.components.seconds else { throw .expired }
    }
}

extension ArraySlice<UInt8> {
    fileprivate var isLowerCaseHex: Bool {
        allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}

/// The nonce of a signed request, not used up yet, since the body may be forged.
struct UnusedNonce: Sendable {
    private let mark: NonceMemory.Mark
    private let end: Int64
    private let share: FairShare
    private let memory: NonceMemory

    init(
        _ signature: RequestSignature,
        window: Duration,
        _ share: FairShare,
        _ memory: NonceMemory
    ) {
        mark = NonceMemory.Mark(signature.name, signature.nonce)
        end = signature.seconds + window.components.seconds
        self.share = share
        self.memory = memory
    }

    /// Called before the body arrives, any number of times.
    func check(now: WallTime) throws(AccessProblem) {
        if let problem = memory.check(mark, now: now.seconds, share) { throw problem }
    }

    func use(now: WallTime) throws(AccessProblem) {
        if let problem = memory.use(mark, until: end, now: now.seconds, share) { throw problem }
    }
}

/// The used nonces, each until its signature is too old to be accepted. All loops share it; a
/// restart forgets it.
package final class NonceMemory: Sendable {
    /// A digest: 64 bits of the key's name, 128 bits of name and nonce.
    struct Mark: Hashable {
        fileprivate let sender: UInt64
        private let first: UInt64
        private let second: UInt64

        init(_ name: [UInt8], _ nonce: [UInt8]) {
            sender = Digest.sha256(name).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
            (first, second) = Digest.sha256(name + [0] + nonce).withUnsafeBytes {
                (
                    $0.loadUnaligned(as: UInt64.self),
                    $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
                )
            }
        }
    }

    /// A clock that is set back by more than this is followed, and the nonces since then are
    /// forgotten. Otherwise signed requests would be refused until the clock has caught up.
    private static let secondsBackMax: Int64 = 600

    private struct State {
        var used: Set<Mark> = []
        /// Nonces in memory by sender.
        var shares = FairShares<UInt64>(FairShare(max: 0, holders: 1))
        /// By the last second in which they are valid; the window bounds the number of seconds.
        var ends: [Int64: [Mark]] = [:]
        /// Nonces that ended before this second are forgotten.
        var now: Int64 = 0

        mutating func advance(to now: Int64) {
            guard now > self.now else { return }
            self.now = now
            for (end, marks) in ends where end < now {
                for mark in marks { forget(mark) }
                ends[end] = nil
            }
        }

        private mutating func forget(_ mark: Mark) {
            used.remove(mark)
            shares.giveBack(mark.sender)
        }

        /// A reload may have changed the share.
        mutating func check(_ mark: Mark, _ share: FairShare) -> AccessProblem? {
            guard !used.contains(mark) else { return .replayed }
            shares.change(to: share)
            // Nonces of removed keys may remain.
            let isFull = shares.all >= share.places
            return !isFull && shares.hasPlace(mark.sender) ? nil : .tooManyNonces
        }
    }

    private let state = Locked(State())

    package var count: Int { state.withLock { $0.used.count } }

    /// Why a nonce cannot be used, without using it up; nil: it can. `now` may be a while ago.
    func check(_ mark: Mark, now: Int64, _ share: FairShare) -> AccessProblem? {
        state.withLock { state in
            state.advance(to: now)
            return state.check(mark, share)
        }
    }

    /// Why a nonce cannot be used; nil: it is used up. `end` is the last second in which it is
    /// valid.
    func use(_ mark: Mark, until end: Int64, now: Int64, _ share: FairShare) -> AccessProblem? {
        state.withLock { state in
            if state.now - now > Self.secondsBackMax { state.now = now }
            state.advance(to: now)
            // So long ago that its nonces are forgotten.
            guard end >= state.now else { return .expired }
            if let problem = state.check(mark, share) { return problem }
            state.used.insert(mark)
            state.shares.take(mark.sender)
            state.ends[end, default: []].append(mark)
            return nil
        }
    }
}
