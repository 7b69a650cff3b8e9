import Configuration
import Crypto
import Synchronization
import System

/// The sessions of people who logged in to the console. Only digests of their ids are kept, so that
/// nobody can log in with what a memory dump shows.
struct ConsoleSessions {
    /// For each token, so that the logins of one end no session of another.
    static let countMax = 16
    static let idleMax: Duration = .seconds(30 * 60)
    static let ageMax: Duration = .seconds(12 * 60 * 60)
    private static let idBytes = 32

    /// A class, because streams that the session opened end with it, on another thread.
    final class Session: Sendable {
        /// The holder of the token that was exchanged for the session. It ends with that token.
        let holder: AdminHolder
        fileprivate let digest: [UInt8]
        let end: Moment
        private let lastUse: Atomic<Int64>
        private let isClosed = Atomic<Bool>(false)

        fileprivate init(_ holder: AdminHolder, _ digest: [UInt8], _ now: Moment) {
            self.holder = holder
            self.digest = digest
            end = now + ConsoleSessions.ageMax
            lastUse = Atomic(now.nanoseconds)
        }

        var lastUsed: Moment { Moment(nanoseconds: lastUse.load(ordering: .relaxed)) }

        /// A stream that is read is a use, too.
        func use(_ now: Moment) { lastUse.store(now.nanoseconds, ordering: .relaxed) }

        func close() { isClosed.store(true, ordering: .relaxed) }

        func isOver(_ now: Moment) -> Bool {
            isClosed.load(ordering: .relaxed) || now >= end
                || now - lastUsed >= ConsoleSessions.idleMax
        }
    }

    private var sessions: [[UInt8]: Session] = [:]

    var count: Int { sessions.count }

    /// Opens a session and returns its id. Beyond the limit the token's least used session ends.
    mutating func open(_ holder: AdminHolder, _ now: Moment) -> String {
        sessions = sessions.filter { !$0.value.isOver(now) }
        let own = sessions.values.filter { $0.holder.name == holder.name }
        if own.count >= Self.countMax,
            let oldest = own.min(by: { $0.lastUsed < $1.lastUsed })
        {
            close(oldest)
        }
        let id = hex(randomBytes(Self.idBytes))
        let digest = Digest.sha256(Array(id.utf8))
        sessions[digest] = Session(holder, digest, now)
        return id
    }

    /// The session, which counts as used; nil when it is over or its token is gone.
    mutating func use(
        _ id: some Collection<UInt8>,
        _ now: Moment,
        isKnown: (AdminHolder) -> Bool
    ) -> Session? {
        guard id.count == 2 * Self.idBytes else { return nil }
        let digest = Digest.sha256(Array(id))
        guard let session = sessions[digest] else { return nil }
        guard !session.isOver(now), isKnown(session.holder) else {
            close(session)
            return nil
        }
        session.use(now)
        return session
    }

    mutating func close(_ session: Session) {
        session.close()
        sessions[session.digest] = nil
    }
}

/// Codes of `sluice console --open`: each opens one session, within a minute.
struct LoginCodes {
    /// For each token.
    static let countMax = 4
    static let life: Duration = .seconds(60)

    private var codes: [(digest: [UInt8], holder: AdminHolder, end: Moment)] = []

    mutating func make(for holder: AdminHolder, _ now: Moment) -> String {
        codes.removeAll { $0.end <= now }
        let code = hex(randomBytes(24))
        let own = codes.indices.filter { codes[$0].holder.name == holder.name }
        if own.count >= Self.countMax { codes.remove(at: own[0]) }
        codes.append((Digest.sha256(Array(code.utf8)), holder, now + Self.life))
        return code
    }

    /// The holder for whom the code was made. The code is used up.
    mutating func take(_ code: String, _ now: Moment) -> AdminHolder? {
        let digest = Digest.sha256(Array(code.utf8))
        guard let index = codes.firstIndex(where: { $0.digest == digest }) else { return nil }
        let found = codes.remove(at: index)
        return found.end > now ? found.holder : nil
    }
}
