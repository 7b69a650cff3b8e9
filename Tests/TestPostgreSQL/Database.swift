import Glibc
import System
import TestSupport

/// A real PostgreSQL server with its own directory, and perhaps a standby. Both end with this
/// value, or with the test's process.
package final class Database {
    /// A server refuses to run as root.
    private static let user =
        getuid() == 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : []

    /// One server.
    package final class Server {
        package let port = freePort()
        private let directory = TemporaryDirectory()
        private var process: LeashedProgram?
        var data: String { "\(directory.path)/data" }

        init() {
            if getuid() == 0, let entry = getpwnam("postgres") {
                chown(directory.path, entry.pointee.pw_uid, entry.pointee.pw_gid)
            }
        }

        deinit { kill() }

        package func start() throws {
            precondition(process == nil, "the server runs already")
            let settings = [
                "port=\(port)", "listen_addresses=127.0.0.1",
                "unix_socket_directories=\(directory.path)", "shared_buffers=16MB",
                "max_connections=30", "wal_sender_timeout=3s", "logging_collector=off",
            ]
            process = try LeashedProgram(
                Database.user + ["\(Database.programs)/postgres", "-D", data]
                    + settings.flatMap { ["-c", $0] }
            )
        }

        package func signal(_ number: CInt) { process?.signal(number) }

        /// Ends it and its children, as a crash would.
        package func kill() {
            guard let process = process.take() else { return }
            // Its children end with a server that is asked to, and notice only later that one is
            // dead.
            process.signal(SIGQUIT)
            process.wait()
        }

        package func waitUntilReady() -> Bool {
            eventually {
                (try? Database.run([
                    "\(Database.programs)/pg_isready", "-q", "-h", "127.0.0.1", "-p", "\(port)",
                ])) == ""
            }
        }

        /// Runs a statement as an operator; the output of psql.
        @discardableResult
        package func query(_ sql: String) throws -> String {
            try Database.run([
                "psql", "-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-p", "\(port)", "-U", "sluice",
                "-d", "postgres", "-c", sql,
            ])
        }
    }

    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    package static let isInstalled = access("\(programs)/initdb", X_OK) == 0

    package let primary: Server
    package private(set) var standby: Server?

    /// With a standby, the primary confirms no commit without it.
    package init(hasStandby: Bool = true, settings: [String] = []) throws {
        primary = Server()
        try Self.run(
            Self.user + [
                "\(Self.programs)/initdb", "-D", primary.data, "-A", "trust", "-U", "sluice", "-E",
                "UTF8", "--locale=C", "--no-sync",
            ]
        )
        for line in settings { try configure(line) }
        try primary.start()
        guard primary.waitUntilReady() else {
            throw Problem(description: "the primary does not start")
        }
        guard hasStandby else { return }
        let standby = Server()
        try Self.run(
            Self.user + [
                "\(Self.programs)/pg_basebackup", "-D", standby.data, "-R", "-c", "fast", "-h",
                "127.0.0.1", "-p", "\(primary.port)", "-U", "sluice", "--no-sync",
            ]
        )
        self.standby = standby
        try standby.start()
        guard standby.waitUntilReady() else {
            throw Problem(description: "the standby does not start")
        }
        try primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        try primary.query("SELECT pg_reload_conf()")
        guard
            eventually({
                (try? primary.query("SELECT sync_state FROM pg_stat_replication")) == "sync\n"
            })
        else { throw Problem(description: "the standby does not follow") }
    }

    package var url: String { "postgresql://sluice@127.0.0.1:\(primary.port)/postgres" }

    /// Both servers, of which one takes commits.
    package var urlOfBoth: String {
        "postgresql://sluice@127.0.0.1:\(primary.port),127.0.0.1:\(standby?.port ?? 0)/postgres"
    }

    private func configure(_ line: String) throws {
        try Self.run(
            Self.user + [
                "sh", "-c", "echo \"$1\" >>\"$2\"/postgresql.conf", "sh", line, primary.data,
            ]
        )
    }

    /// Debian keeps them apart by version.
    private static let programs: String = {
        let versions = TemporaryDirectory.names(in: "/usr/lib/postgresql").compactMap { Int($0) }
        return "/usr/lib/postgresql/\(versions.max() ?? 15)/bin"
    }()

    @discardableResult
    fileprivate static func run(_ words: [String]) throws -> String {
        let process = try ChildProcess(words, output: .pipe, errors: .pipe)
        let output = process.output?.readAll() ?? ""
        let errors = process.errors?.readAll() ?? ""
        guard process.wait() == 0 else {
            throw Problem(description: "\(words.prefix(8).joined(separator: " ")): \(errors)")
        }
        return output
    }
}
