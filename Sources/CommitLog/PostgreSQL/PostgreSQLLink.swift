import CPostgreSQL
import System

/// A connection that is made again when it is lost, and the append that is under way on it.
struct PostgreSQLLink: ~Copyable {
    struct Append: Equatable {
        let id: AppendID
        let last: UInt64
        let parts: Int
    }

    enum Outcome {
        /// So many rows were inserted.
        case done(Int)
        /// Somebody else inserted at the same moment.
        case taken
        case noRoom(String)
        case refused(String)
        case unknown(String)
    }

    private let settings: PostgreSQLSettings
    private let isSynced: Bool
    private let choice: ServerChoice
    private let journal: Journal
    /// The generation of `choice` for which the session was opened.
    private var generation = 0
    private var session: PostgreSQLSession?
    private var connecting: ConnectionAttempt?
    private var append: Append?
    private var isReported = false

    init(
        _ settings: PostgreSQLSettings,
        isSynced: Bool,
        _ choice: ServerChoice,
        _ journal: Journal
    ) {
        self.settings = settings
        self.isSynced = isSynced
        self.choice = choice
        self.journal = journal
    }

    // MARK: - Statements

    /// Runs a statement. The next one waits for it if its answer is late: a server that waits for
    /// its standby does not notice that its client is gone, and would keep each connection.
    mutating func run(
        _ sql: String,
        _ values: [PostgreSQLSession.Value] = [],
        until deadline: Moment
    ) throws(CommitLogError) -> PostgreSQLResult {
        let session = try connected(until: deadline)
        do throws(PostgreSQLSession.Failure) {
            return try session.run(sql, values, until: deadline)
        } catch {
            throw problem(error)
        }
    }

    /// Waits for notifications on the connection that `run` has used, or until the other wakes.
    mutating func notifications(
        or other: WakeUp,
        atMost time: Duration
    ) throws(CommitLogError) -> [String] {
        if session != nil, generation != choice.generation { lose(Self.changed) }
        guard let session else { throw .unreachable("the connection was lost") }
        do throws(PostgreSQLSession.Failure) {
            return try session.notifications(or: other, atMost: time)
        } catch {
            throw problem(error)
        }
    }

    /// Commits once more. Once that is confirmed, all that was committed before is.
    mutating func confirm(until deadline: Moment) throws(CommitLogError) {
        _ = try run(LogTable.barrier(isSynced: isSynced), [], until: deadline)
        guard try checkCopies(until: deadline) else {
            throw .unreachable(Self.unconfirmed)
        }
    }

    /// False if the last commit may have returned although no standby has it. An operator may have
    /// cancelled its wait, or the server has no synchronous standby any more, which ends all waits.
    mutating func checkCopies(until deadline: Moment) throws(CommitLogError) -> Bool {
        guard !(session?.takeReplicationDoubt() ?? false) else { return false }
        guard isSynced, settings.copies == .standby else { return true }
        let names = try run(Self.standbyNames, [], until: deadline)
        guard names.text(0, 0)?.isEmpty ?? true else { return true }
        // The next connection is refused, with the remedy.
        lose("the server has no synchronous standby any more")
        return false
    }

    static let unconfirmed = "the server did not wait for its standby"
    private static let standbyNames = "SELECT current_setting('synchronous_standby_names')"

    /// Begins an append, unless it is under way already. False: another one is.
    mutating func begin(
        _ append: Append,
        _ deadline: Moment,
        _ statement: () -> (String, [PostgreSQLSession.Value])
    ) throws(CommitLogError) -> Bool {
        let session = try connected(until: deadline)
        guard session.isBusy else {
            let (sql, values) = statement()
            do throws(PostgreSQLSession.Failure) {
                try session.send(sql, values)
            } catch {
                throw problem(error)
            }
            self.append = append
            return true
        }
        guard self.append != append else { return true }
        // Its caller has given it up: the log must be read again before anything is appended.
        do throws(PostgreSQLSession.Failure) {
            guard try session.result(until: deadline) != nil else { return false }
        } catch {
            throw problem(error)
        }
        self.append = nil
        return try begin(append, deadline, statement)
    }

    /// Waits for the outcome of the append that is under way.
    mutating func outcome(until deadline: Moment) -> Outcome {
        guard let session else { return .unknown("the connection was lost") }
        do throws(PostgreSQLSession.Failure) {
            guard let result = try session.result(until: deadline) else {
                return .unknown("the server has not confirmed it yet; is its standby there?")
            }
            append = nil
            return .done(result.changedCount)
        } catch {
            append = nil
            switch error.kind {
            case .refused("23505"): return .taken
            case .refused("53100"), .refused("53400"): return .noRoom(error.text)
            case .refused, .lost, .late:
                let problem = problem(error)
                return problem.kind == .refused
                    ? .refused(problem.description) : .unknown(problem.description)
            }
        }
    }

    /// What a failed statement means for the log. Leaves a server that takes no commits any more.
    private mutating func problem(_ failure: PostgreSQLSession.Failure) -> CommitLogError {
        switch failure.kind {
        case .lost:
            lose(failure.text)
            return .unreachable(failure.text)
        case .late: return .unreachable(failure.text)
        case .refused(let code):
            let text = "\(failure.text) (SQLSTATE \(code))"
            switch code {
            case "42P01": return .damaged("the table is gone: \(text)")
            case "42501":
                return .refused(
                    "\(text); grant the user all on the table, or CREATE on the schema before the first start"
                )
            case "53100": return .noRoom(text)
            case "25006":
                // After a failover it is the standby now.
                lose(text)
                return .unreachable(text)
            // What the server does not have or cannot understand.
            case _ where ["42", "0A", "22", "3D", "3F", "28"].contains(code.prefix(2)):
                return .refused(text)
            default: return .unreachable(text)
            }
        }
    }

    /// The server that it is connected to; nil: it is not.
    var server: PostgreSQLServer? { session?.server(among: choice.servers) }

    /// Ends the statement that is under way, and the connection: a server that waits for its
    /// standby does not notice that its client is gone.
    mutating func cancel() {
        session?.cancel()
        session = nil
        append = nil
    }

    /// Closes a connection without a statement under way: it takes a place at the server, and libpq
    /// keeps the memory of a large append.
    mutating func closeIfIdle() {
        if session?.isBusy != true { session = nil }
    }

    private mutating func lose(_ reason: String) {
        session = nil
        append = nil
        guard !isReported else { return }
        isReported = true
        journal.warning("connection to the database lost", ["reason": reason])
    }

    // MARK: - Connecting

    private mutating func connected(
        until deadline: Moment
    ) throws(CommitLogError) -> PostgreSQLSession {
        if generation != choice.generation {
            generation = choice.generation
            connecting = nil
            if session != nil { lose(Self.changed) }
        }
        if let session, session.isOpen { return session }
        if session != nil { lose("the connection was lost") }
        let attempt: ConnectionAttempt
        if let connecting {
            attempt = connecting
        } else {
            attempt = try ConnectionAttempt(settings, to: choice.order)
        }
        connecting = attempt
        guard let result = attempt.wait(atMost: deadline - .now) else {
            throw .unreachable("the server did not answer in time")
        }
        connecting = nil
        switch result {
        case .failed(let error):
            throw error
        case .connected(let connection):
            let session = PostgreSQLSession(taking: connection)
            try check(session, until: deadline)
            self.session = session
            if isReported { journal.info("database reached") }
            isReported = false
            return session
        }
    }

    /// Asks what the server promises, and sets what our sessions need.
    private mutating func check(
        _ session: PostgreSQLSession,
        until deadline: Moment
    ) throws(CommitLogError) {
        func ask(_ sql: String) throws(CommitLogError) -> String {
            do throws(PostgreSQLSession.Failure) {
                let result = try session.run(sql, until: deadline)
                return result.rowCount > 0 ? result.text(0, 0) ?? "" : ""
            } catch {
                throw problem(error)
            }
        }
        let version = Int(try ask("SELECT current_setting('server_version_num')")) ?? 0
        guard version >= Self.versionLeast else {
            throw .refused(
                "the server has version \(version / 10_000); update it to \(Self.versionLeast / 10_000) or newer"
            )
        }
        guard try ask("SELECT pg_is_in_recovery()::text") == "false" else {
            throw .unreachable("the server is a standby, and takes no commits")
        }
        // The first 8 digits are the timeline's.
        if choice.servers.count > 1,
            let file = try? ask("SELECT pg_walfile_name(pg_current_wal_lsn())"),
            let timeline = Int(file.prefix(8), radix: 16),
            !choice.take(timeline: timeline, on: session.server(among: choice.servers))
        {
            throw .unreachable(
                "the server is a former primary; another one was promoted in its place. If it shall "
                    + "be the primary again, restart this gateway"
            )
        }
        // Defaults of a role must not change what a statement means, end it, or hide its warnings.
        _ = try ask("SET default_transaction_isolation TO 'read committed'")
        _ = try ask("SET client_min_messages TO warning")
        _ = try ask("SET statement_timeout TO 0")
        if version >= 140_000 { _ = try ask("SET idle_session_timeout TO 0") }
        guard isSynced else { return }
        guard try ask("SELECT current_setting('fsync')") == "on" else {
            throw .refused(
                "the server has fsync = off, and would lose commits in a power cut; set it to on, or set "
                    + "queue.durability: normal"
            )
        }
        guard settings.copies == .standby, try ask(Self.standbyNames).isEmpty else { return }
        throw .refused(
            "the server has no synchronous standby, so the loss of its disk would lose commits; set "
                + "synchronous_standby_names, or set queue.postgresql.copies: storage if its storage is "
                + "replicated, or queue.durability: normal"
        )
    }

    private static let changed = "another server takes commits now"
    private static let versionLeast = 120_000

    mutating func description(until deadline: Moment) throws(CommitLogError) -> String {
        let found = try run(
            "SELECT current_setting('server_version'), current_setting('synchronous_standby_names')",
            [],
            until: deadline
        )
        let standby = found.text(0, 1) ?? ""
        return "PostgreSQL \(found.text(0, 0) ?? "?"), "
            + (standby.isEmpty ? "no synchronous standby" : "synchronous standby \(standby)")
    }
}
