import CPostgreSQL
import Crypto
import System

/// An attempt to connect, on a thread of its own: libpq waits for names without a limit.
final class ConnectionAttempt: Sendable {
    enum Result: @unchecked Sendable {
        /// The one who takes it owns it.
        case connected(OpaquePointer)
        case failed(CommitLogError)
    }

    private let outcome: Promise<Void>
    private let result = Locked<Result?>(nil)

    /// Connects to `servers`, or to those of the URL if there are none.
    init(
        _ settings: PostgreSQLSettings,
        to servers: [PostgreSQLServer] = []
    ) throws(CommitLogError) {
        do throws(SystemError) {
            outcome = try Promise()
            let worker = try Worker("postgresql") { [self] in
                let found = Self.connect(settings, to: servers)
                result.withLock { $0 = found }
                outcome.bring(())
            }
            worker.leave()
        } catch {
            throw .unreachable("\(error)")
        }
    }

    deinit {
        // Nobody waited for it.
        if case .connected(let connection) = result.withLock({ $0.take() }) { PQfinish(connection) }
    }

    /// nil: it is not over yet.
    func wait(atMost time: Duration) -> Result? {
        guard outcome.wait(atMost: max(time, .zero)) != nil else { return nil }
        return result.withLock { $0.take() }
    }

    private static func connect(
        _ settings: PostgreSQLSettings,
        to servers: [PostgreSQLServer]
    ) -> Result {
        // A later word overrides an earlier one: the URL the defaults, and `servers` the URL.
        let words: [(String, String)] =
            [
                ("connect_timeout", "4"), ("tcp_user_timeout", "5000"), ("keepalives_idle", "5"),
                ("keepalives_interval", "2"), ("target_session_attrs", "read-write"),
                ("fallback_application_name", "sluice/\(Version.current) \(settings.node)"),
                ("dbname", settings.url.revealed),
            ] + servers.words
        let connection = withCStrings(words.map(\.0)) { names in
            withCStrings(words.map(\.1)) { values in PQconnectdbParams(names, values, 1) }
        }
        guard let connection else {
            return .failed(.unreachable("libpq has no memory"))
        }
        guard PQstatus(connection) == CONNECTION_OK else {
            let text = PostgreSQLSession.message(of: connection)
            PQfinish(connection)
            return .failed(CommitLogError(isRefusal(text) ? .refused : .unreachable, text))
        }
        return .connected(connection)
    }

    /// libpq tells no code here. Of several servers each must refuse.
    private static func isRefusal(_ text: String) -> Bool {
        let refusals = [
            "password authentication failed", "no pg_hba.conf entry", "no password supplied",
            "certificate verify failed", "\" does not exist", "server does not support SSL",
            "could not match", "invalid port number", "invalid sslmode value",
            "root certificate file",
        ]
        let parts = text.split(separator: "connection to server at")
        return parts.allSatisfy { part in refusals.contains { part.contains($0) } }
    }
}

/// Passes the texts as C strings, ended by a nil.
private func withCStrings<Result>(
    _ texts: [String],
    _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
) -> Result {
    var pointers: [UnsafePointer<CChar>?] = []
    func lend(_ index: Int) -> Result {
        guard index < texts.count else { return body(pointers + [nil]) }
        return texts[index].withCString { text in
            pointers.append(text)
            return lend(index + 1)
        }
    }
    return lend(0)
}
