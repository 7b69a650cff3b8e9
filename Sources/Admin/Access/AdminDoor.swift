import Configuration
import HTTP
import Ingest
import Operations
import Synchronization
import System

/// Finds out who sends a request to the admin listener: the holder of a token, or a person with a
/// session of the console. Both are throttled alike when they guess. Only the thread of the
/// listener uses it.
final class AdminDoor {
    /// Whoever may look, at least.
    struct Visitor {
        let holder: AdminHolder
        /// nil: the request shows a token.
        let session: ConsoleSessions.Session?
    }

    /// The cookie's name on a listener with TLS. Browsers accept the prefix only from there, with
    /// Secure and Path=/.
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

    /// nil for a stranger: without a token or session, with a wrong one, or while its address has
    /// to wait.
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

    /// The token's holder. nil while the address has to wait, unless this token came from there
    /// before.
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

    /// The holder of a one-time code. nil also while the address has to wait, and when its token no
    /// longer exists.
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
