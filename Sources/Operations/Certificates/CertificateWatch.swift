import Configuration
package import Net
package import System

/// Keeps a listener's certificates in step with their files.
///
/// It checks the files every few seconds. That costs a few system calls and no descriptor, and
/// notices every way of renewing. Only the thread of changes calls it; `status` may be called from
/// any thread.
package final class CertificateWatch: Sendable {
    /// The served certificates, for reports.
    package struct Status: Sendable, Equatable {
        package let certificates: [TLSCertificate]
        /// The lists that client certificates are checked against.
        package let revocationLists: [TLSRevocationList]
        /// Why the present files cannot be served.
        package let problem: String?
    }

    static let pause = Duration.seconds(10)
    /// The life of session ticket keys, and the pause between warnings of a certificate near its
    /// end.
    private static let ageMax = Duration.seconds(86_400)

    private struct State {
        var settings: TLSSettings
        var seen: [FileStamp?]
        var began: Moment
        var failures = 0
        var problem: TLSError?
        /// Revocation lists whose expiry was reported.
        var toldExpired: Set<RevocationSource> = []
    }

    /// A file may hold the lists of several authorities, which expire one after the other.
    private struct RevocationSource: Hashable {
        let file: String
        let issuer: String

        init(_ list: TLSRevocationList) {
            file = list.file
            issuer = list.issuer
        }
    }

    let listener: String
    package let context: TLSContext
    private let state: Locked<State>
    private let journal: Journal

    package init(_ settings: TLSSettings, of listener: String, journal: Journal) throws(TLSError) {
        self.listener = listener
        self.journal = journal
        // Before the files are read, so that no change is missed.
        let seen = Self.stamps(settings)
        context = try TLSContext(settings)
        state = Locked(State(settings: settings, seen: seen, began: .now))
    }

    var status: Status {
        Status(
            certificates: context.certificates,
            revocationLists: context.revocationLists,
            problem: state.withLock { $0.problem }?.description
        )
    }

    /// Reads the files again if they changed or could not be read, once a day, and when an operator
    /// asks for it.
    package func look(_ now: Moment = .now, isAsked: Bool = false) {
        if !isAsked { tellExpiry(at: .now) }
        let before = state.withLock { $0 }
        let seen = Self.stamps(before.settings)
        let areOthers = seen != before.seen || before.failures > 0
        guard areOthers || isAsked || now - before.began >= Self.ageMax else { return }
        read(before, seen, areOthers: areOthers, now)
    }

    /// Serves certificates of other settings, which were read already.
    func adopt(_ settings: TLSSettings, _ read: TLSContext, seen: [FileStamp?]) {
        context.adopt(read)
        state.withLock { $0 = State(settings: settings, seen: seen, began: .now) }
        told(areOthers: true)
    }

    static func stamps(_ settings: TLSSettings) -> [FileStamp?] {
        settings.files.map { FileStamp(of: $0) }
    }

    private func read(_ before: State, _ seen: [FileStamp?], areOthers: Bool, _ now: Moment) {
        var after = before
        do throws(TLSError) {
            try context.replace(before.settings)
            after = State(settings: before.settings, seen: seen, began: now)
            told(areOthers: areOthers)
        } catch {
            after.seen = seen
            after.failures += 1
            after.problem = error
            // A key and its certificate are not replaced at once: files may fit at the next look.
            if after.failures == 2 || after.failures > 2 && error != before.problem {
                journal.error(
                    "cannot reload certificates; the listener keeps the present ones and tries again",
                    ["listener": listener, "problem": error.description]
                )
            }
        }
        let next = after
        state.withLock { $0 = next }
    }

    /// Reports each newly expired revocation list, per file and issuer: clients are refused then.
    func tellExpiry(at now: WallTime) {
        let expired = context.revocationLists.filter { $0.isExpired(at: now) }
        var told = state.withLock { state in
            defer { state.toldExpired = Set(expired.map(RevocationSource.init)) }
            return state.toldExpired
        }
        for list in expired where told.insert(RevocationSource(list)).inserted {
            journal.error(
                "a revocation list has expired; clients are refused until its file is replaced",
                [
                    "listener": listener, "file": list.file, "issuer": list.issuer,
                    "expired": list.expires?.rfc3339 ?? "",
                ]
            )
        }
    }

    private func told(areOthers: Bool) {
        if areOthers {
            journal.info(
                "certificates reloaded; open connections continue, new ones use the new certificates",
                [
                    "listener": listener,
                    "expires": context.certificates.map(\.expires.rfc3339).joined(separator: ", "),
                ]
            )
        }
        for warning in context.warnings(at: .now) {
            journal.warning("\(warning)", ["listener": listener])
        }
    }
}

/// Replaces the certificates of listeners when a reload names other files.
package struct CertificateReload: Sendable {
    /// Certificates that were read and are not served yet.
    struct Candidate {
        fileprivate let watch: CertificateWatch
        fileprivate let settings: TLSSettings
        fileprivate let context: TLSContext
        fileprivate let seen: [FileStamp?]

        func adopt() { watch.adopt(settings, context, seen: seen) }
    }

    /// One for each listener that speaks TLS.
    package let watches: [CertificateWatch]

    package init(_ watches: [CertificateWatch]) {
        self.watches = watches
    }

    /// Reads the certificates of listeners whose settings differ.
    func candidates(
        _ before: GatewayConfiguration,
        _ after: GatewayConfiguration
    ) throws(TLSError) -> [Candidate] {
        var all: [Candidate] = []
        for watch in watches {
            guard let settings = after.tls(of: watch.listener),
                settings != before.tls(of: watch.listener)
            else { continue }
            // Before the files are read, so that no change is missed.
            let seen = CertificateWatch.stamps(settings)
            let context = try TLSContext(settings)
            all.append(Candidate(watch: watch, settings: settings, context: context, seen: seen))
        }
        return all
    }

    /// Reads all files again, changed or not.
    func readAgain() {
        for watch in watches { watch.look(isAsked: true) }
    }
}
