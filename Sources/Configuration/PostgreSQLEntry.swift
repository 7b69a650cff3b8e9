import CommitLog
import Crypto

/// The group `queue.postgresql` as the file has it.
struct PostgreSQLEntry: EngineEntry, Equatable, Sendable {
    private var url: Secret?
    private(set) var node = NodeEntry()
    private var copies = PostgreSQLSettings.Copies.standby

    static var settings: [Setting<PostgreSQLEntry>] {
        Setting("url", \.url, .postgreSQLURL, default: "required with `engine: postgresql`") {
            """
            where the database is: `postgresql://user:password@host:5432/database?sslmode=verify-full`, \
            best from `${file:…}`; never shown
            """
        }
        NodeEntry.settings.map { $0.lifted(\.node) }
        Setting("copies", \.copies, .choice(["standby": .standby, "storage": .storage])) {
            """
            what keeps a second copy of each commit. `standby`: the server must have a synchronous \
            standby. `storage`: the storage of the database, as PolarDB's does; the gateway cannot check it
            """
        }
    }

    static var engine: QueueSettings.Engine { .postgreSQL }
    static var path: WritableKeyPath<QueueSettings, PostgreSQLEntry?> { \.postgreSQLEntry }
    static var help: String { "the database of `engine: postgresql`" }
    static var required: (key: String, remedy: String) { ("url", Kind.exampleOfURL) }

    /// nil: something is missing, which is reported.
    var settings: PostgreSQLSettings? {
        guard let url, let name = node.name else { return nil }
        return PostgreSQLSettings(url: url, cluster: node.cluster, node: name, copies: copies)
    }
}

extension Kind<Secret> {
    fileprivate static var exampleOfURL: String {
        "write it as postgresql://user:password@host:5432/database?sslmode=verify-full"
    }

    /// It may contain a password, so no message repeats any of it.
    fileprivate static var postgreSQLURL: Kind {
        Kind(wants: "a URL such as postgresql://host:5432/database") { text throws(Mismatch) in
            try checkLine(text, upTo: 4096)
            let url = Secret(text)
            if let problem = PostgreSQLSettings.problem(ofURL: url) {
                throw Mismatch(
                    "\(problem); \(exampleOfURL), with special characters percent-encoded"
                )
            }
            return url
        }
    }
}
