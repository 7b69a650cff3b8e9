import Crypto
import Net
import SLS
import System

/// Throttles guesses of tokens: after a few different wrong tokens an address waits before its next
/// attempt, longer each time.
///
/// The same wrong token again is not a guess but a script with an old token, and causes no wait.
struct Doorkeeper {
    static let addressesMax = 1024
    /// Wrong tokens before the first wait.
    static let freeGuesses = 5
    /// Remembered wrong tokens per address.
    static let guessesKept = 16
    static let longestWait: Duration = .seconds(60)
    /// An address without attempts for this long is forgotten.
    static let memory: Duration = .seconds(600)

    private struct Visitor {
        var guesses = 0
        var known: [[UInt8]] = []
        var seen: Moment
        var closedUntil: Moment
    }

    private var visitors: [Neighbourhood: Visitor] = [:]
    /// Tokens that were right lately, with their address. They do not wait when a neighbour
    /// guesses: operators, their monitoring and an attacker may share an address.
    private var friends: [(address: Neighbourhood, digest: [UInt8])] = []
    static let friendsMax = 64

    var visitorCount: Int { visitors.count }

    /// The time until a token from this address is checked; nil if it is checked now.
    func wait(of address: Neighbourhood, _ now: Moment) -> Duration? {
        guard let visitor = visitors[address], visitor.closedUntil > now else { return nil }
        return visitor.closedUntil - now
    }

    /// Records a wrong token. Returns true if the address has to wait from now on.
    mutating func refused(
        _ token: some Collection<UInt8>,
        from address: Neighbourhood,
        _ now: Moment
    ) -> Bool {
        var visitor = visitors[address] ?? Visitor(seen: now, closedUntil: now)
        if now - visitor.seen > Self.memory { visitor.guesses = 0 }
        visitor.seen = now
        let digest = Digest.sha256(Array(token))
        let isNew = !visitor.known.contains(digest)
        if isNew {
            visitor.known = visitor.known.suffix(Self.guessesKept - 1) + [digest]
            visitor.guesses += 1
        }
        let excess = visitor.guesses - Self.freeGuesses
        if isNew, excess > 0 {
            visitor.closedUntil = now + min(Self.longestWait, .seconds(1 << min(excess - 1, 6)))
        }
        if visitors[address] == nil, visitors.count >= Self.addressesMax { forgetSome(now) }
        visitors[address] = visitor
        return isNew && excess > 0
    }

    /// True if this token was right when it came from this address before; it may have been revoked
    /// since.
    func hasAdmitted(_ token: some Collection<UInt8>, from address: Neighbourhood) -> Bool {
        guard friends.contains(where: { $0.address == address }) else { return false }
        let digest = Digest.sha256(Array(token))
        return friends.contains { $0.address == address && $0.digest == digest }
    }

    /// Records a right token. A forgiving one clears the address's wrong tokens.
    mutating func admitted(
        _ token: some Collection<UInt8>,
        from address: Neighbourhood,
        forgiving: Bool
    ) {
        if forgiving { visitors[address] = nil }
        let digest = Digest.sha256(Array(token))
        guard friends.last.map({ $0.address == address && $0.digest == digest }) != true else {
            return
        }
        friends.removeAll { $0.address == address && $0.digest == digest }
        friends = friends.suffix(Self.friendsMax - 1) + [(address, digest)]
    }

    /// Addresses that no longer wait go first, then the ones without attempts for the longest time,
    /// so that a flood of addresses does not release one that guesses.
    private mutating func forgetSome(_ now: Moment) {
        let quiet = visitors.sorted {
            ($0.value.closedUntil, $0.value.seen) < ($1.value.closedUntil, $1.value.seen)
        }
        for (address, _) in quiet.prefix(Self.addressesMax / 4) { visitors[address] = nil }
    }
}
