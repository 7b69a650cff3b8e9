import Configuration
import Crypto
import HTTP
import Net
import Operations
import Synchronization
import System

/// Identifies who sends an admin request: the holder of a token or of a console session. Wrong
/// guesses of both are throttled alike. Only the listener's thread uses it.
final class AdminDoor {
    /// Whoever may look, at least.
    struct Visitor {
        let holder: AdminHolder
        /// nil: the request shows a token.
        let session: ConsoleSessions.Session?
    }

    /// The cookie's name with TLS: browsers accept the prefix only with Secure and Path=/.
    static let secureCookie = "__Host-sluice"
    static let plainCookie = "sluice"

    private let access: AdminTokens
    private let journal: Journal
    /// This listener's cookie. Another program on this host could set the other name.
    private let cookieName: String
    private var doorkeeper = Doorkeeper()
    private var sessions = ConsoleSessions()
    private var codes = LoginCodes()
    private let counters: OperatorCounters

    init(
        _ access: AdminTokens,
        _ counters: OperatorCounters,
        _ journal: Journal,
        isSecure: Bool
    ) {
        cookieName = Self.cookieName(isSecure: isSecure)
        self.access = access
        self.counters = counters
        self.journal = journal
    }

    /// nil: no token or session, a wrong one, or the address has to wait.
    func visitor(_ head: RequestHead) -> Visitor? {
        if let range = head.fieldRange("authorization") {
            return holder(head, head.bytes[range]).map { Visitor(holder: $0, session: nil) }
        }
        return session(head).map { Visitor(holder: $0.holder, session: $0) }
    }

    /// The holder that a refused request names, without any throttling.
    func namedHolder(_ head: RequestHead) -> AdminHolder? {
        guard let range = head.fieldRange("authorization") else { return session(head)?.holder }
        return access.holder(of: head.bytes[range])
    }

    /// The token's holder; nil while its address has to wait, unless it had used this token before.
    func holder(_ head: RequestHead, _ authorization: ArraySlice<UInt8>) -> AdminHolder? {
        let address = head.peer.neighbourhood
        guard
            doorkeeper.wait(of: address, .now) == nil
                || doorkeeper.hasAdmitted(authorization, from: address)
        else { return nil }
        guard let holder = access.holder(of: authorization) else { return nil }
        // A token for reading forgives nothing: its holder could guess the full token in between.
        // Nor does any token while its address waits, since the guesses may be a neighbour's.
        let isForgiving = holder.role == .full && doorkeeper.wait(of: address, .now) == nil
        doorkeeper.admitted(authorization, from: address, forgiving: isForgiving)
        return holder
    }

    /// Records a wrong token, code or session, and returns the answer: the same for every path.
    func strangerAnswer(_ head: RequestHead, _ shown: ArraySlice<UInt8>?) -> Response {
        let now = Moment.now
        let address = head.peer.neighbourhood
        if let shown { recordGuess(shown, head, now) }
        var response: Response
        if let wait = doorkeeper.wait(of: address, now) {
            response =
                HTTPProblem(
                    429,
                    "TooManyAttempts",
                    "too many failed logins from this address; wait as long as Retry-After says",
                    retryAfter: Int(max(1, wait.milliseconds / 1000 + 1))
                ).response
        } else {
            response =
                HTTPProblem(
                    401,
                    "Unauthorized",
                    "send Authorization: Bearer with an admin token (admin.token)"
                ).response
            response.fields.append(("www-authenticate", "Bearer realm=\"sluice\""))
        }
        response.closes = true
        return response
    }

    /// For a path that is open to strangers too, so that it is no way around the throttle.
    func recordGuess(_ shown: ArraySlice<UInt8>, _ head: RequestHead, _ now: Moment = .now) {
        let address = head.peer.neighbourhood
        guard doorkeeper.wait(of: address, now) == nil,
            doorkeeper.refused(shown, from: address, now)
        else { return }
        journal.warning(
            "too many wrong admin tokens from this address; throttled",
            ["address": head.peer.host]
        )
    }

    // MARK: - Sessions

    private func session(_ head: RequestHead) -> ConsoleSessions.Session? {
        let ids = sessionIDs(head)
        guard !ids.isEmpty else { return nil }
        defer { count() }
        // Another program on this host may have set a cookie of the same name on its own port.
        return ids.lazy.compactMap { [self] in sessions.use($0, .now) { access.knows($0) } }.first
    }

    /// Opens a session and returns its id.
    func open(_ holder: AdminHolder) -> String {
        defer { count() }
        return sessions.open(holder, .now)
    }

    func close(_ session: ConsoleSessions.Session) {
        sessions.close(session)
        count()
    }

    private func count() { counters.sessions.store(sessions.count, ordering: .relaxed) }

    func makeCode(for holder: AdminHolder) -> String { codes.make(for: holder, .now) }

    /// The holder of a one-time code; nil while the address waits, or if its token is gone.
    func take(_ code: String, _ head: RequestHead) -> AdminHolder? {
        guard doorkeeper.wait(of: head.peer.neighbourhood, .now) == nil,
            let holder = codes.take(code, .now), access.knows(holder)
        else { return nil }
        return holder
    }

    /// The values of the session's cookie.
    private func sessionIDs(_ head: RequestHead) -> [ArraySlice<UInt8>] {
        var found: [ArraySlice<UInt8>] = []
        for range in head.fieldRanges("cookie") {
            for pair in head.bytes[range].split(separator: UInt8(ascii: ";")) {
                let trimmed = pair.drop { $0 == UInt8(ascii: " ") }
                let sides = trimmed.split(
                    separator: UInt8(ascii: "="),
                    maxSplits: 1,
                    omittingEmptySubsequences: false
                )
                guard sides.count == 2 else { continue }
                if sides[0].elementsEqual(cookieName.utf8) { found.append(sides[1]) }
            }
        }
        return found
    }

    private static func cookieName(isSecure: Bool) -> String {
        isSecure ? secureCookie : plainCookie
    }

    /// The field that gives a browser the session, or takes it away.
    static func cookie(_ id: String?, isSecure: Bool) -> (name: String, value: String) {
        let name = cookieName(isSecure: isSecure)
        let secure = isSecure ? "; Secure" : ""
        let life = id == nil ? 0 : Int(ConsoleSessions.ageMax.milliseconds / 1000)
        return (
            "set-cookie",
            "\(name)=\(id ?? ""); Path=/; Max-Age=\(life); HttpOnly; SameSite=Strict\(secure)"
        )
    }
}

/// Throttles guesses: after a few different wrong tokens an address waits, longer each time. A
/// repeated wrong token is no guess but a script with an old token, and causes no wait.
struct Doorkeeper {
    static let addressesMax = 1024
    static let freeGuesses = 5
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

    /// True if this address sent this token when it was right; it may have been revoked since.
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
