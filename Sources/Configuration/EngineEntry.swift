import CommitLog
import Crypto
import System

/// The group of an engine of the queue as the file has it: `queue.jetstream`, `queue.postgresql`.
protocol EngineEntry: SettingGroup {
    /// Its name is the key of the group.
    static var engine: QueueSettings.Engine { get }
    /// Where the group's settings go.
    static var path: WritableKeyPath<QueueSettings, Self?> { get }
    /// One sentence in Markdown.
    static var help: String { get }
    /// The setting that the engine needs, and how to write it.
    static var required: (key: String, remedy: String) { get }

    var node: NodeEntry { get }
}

extension EngineEntry {
    /// Only a start opens a log.
    static var reload: Reload { .atRestart }

    /// The row of the group `queue`.
    static var setting: Setting<QueueSettings> {
        let key = engine.rawValue
        return Setting(
            key,
            .group(of: Self.self),
            show: { queue in queue[keyPath: path].map { .present($0.shown) } ?? .absent }
        ) {
            help
        } read: { section, queue in
            queue[keyPath: path] = read(&section, for: queue.engine)
            return queue[keyPath: path] != nil
        } changes: { old, new in
            // With another engine, that one's row tells the change.
            guard let before = old[keyPath: path], let after = new[keyPath: path] else { return [] }
            return before.changes(to: after, at: key + ".")
        }
        .reload(.atRestart)
    }

    /// nil with another engine, and if the group is wrong, which is reported.
    private static func read(_ queue: inout Section, for engine: QueueSettings.Engine) -> Self? {
        var section = queue.section(Self.engine.rawValue)
        var entry = Self()
        entry.readSettings(&section)
        section.refuseEmpty()
        entry.check(section)
        // A wrong engine, which is reported, may have meant any.
        if !queue.report.hasProblem(with: queue.keyPath("engine")) {
            entry.checkUse(of: section, in: queue, by: engine)
        }
        section.refuseOthers()
        return engine == Self.engine ? entry : nil
    }

    private func checkUse(
        of section: borrowing Section,
        in queue: borrowing Section,
        by engine: QueueSettings.Engine
    ) {
        let report = queue.report
        let name = Self.engine.rawValue
        queue.problem(name, if: engine != Self.engine && queue.has(name)) {
            "nothing uses it with engine: \(engine.rawValue); set queue.engine: \(name), or take "
            "the group away"
        }
        guard engine == Self.engine, !report.hasProblem(with: section.path) else { return }
        let place = section.isInFile ? section.ownPlace : queue.place(of: "engine")
        report.add(place, key: section.keyPath("node"), if: node.name == nil) {
            "is missing, and the host has no name; give the gateway a name"
        }
        let (key, remedy) = Self.required
        guard !section.names.contains(key) else { return }
        report.add(place, key: section.keyPath(key)) {
            "is missing, and engine: \(name) needs it; \(remedy)"
        }
    }
}

/// The settings that tell gateways apart in a commit log, for each engine.
struct NodeEntry: SettingGroup, Equatable, Sendable {
    static let reload = Reload.atRestart

    var cluster = "main"
    /// nil: the host has no name.
    var name = machineName().flatMap(name(ofHost:))

    static var settings: [Setting<NodeEntry>] {
        Setting("cluster", \.cluster, .namePart(upTo: 32)) {
            "the name of the cluster of gateways, as several may share the servers; up to 32 "
            "letters, digits, `-` and `_`"
        }
        Setting(
            "node",
            \.name,
            .namePart(
                upTo: 64,
                "; without the setting it is the host's name, with '_' for other characters"
            )
        ) {
            "the name of this gateway. Each of the cluster has another one and keeps it across "
            "restarts; up to 64 letters, digits, `-` and `_`"
        }
        .default("the host's name, with `_` for other characters")
    }

    /// A host's name as a node's: NATS allows no dots in names of streams. nil: the name is empty.
    static func name(ofHost host: String) -> String? {
        let name = String(host.map { String($0).isOfLetters(and: "-_") ? $0 : "_" }.prefix(64))
        return name.isEmpty ? nil : name
    }
}

extension Kind<String> {
    /// A part of the name that a commit log has on its servers.
    fileprivate static func namePart(upTo charactersMax: Int, _ remedy: String = "") -> Kind {
        text("a name", .text(pattern: "^[A-Za-z0-9_-]{1,\(charactersMax)}$")) { text in
            (1...charactersMax).contains(text.utf8.count) && text.isOfLetters(and: "-_")
                ? nil
                : "\(quoted(text)) is not 1 to \(charactersMax) letters, digits, '-' and '_'\(remedy)"
        }
    }
}

/// The group `queue.postgresql` as the file has it.
struct PostgreSQLEntry: EngineEntry, Equatable, Sendable {
    private var url: Secret?
    private(set) var node = NodeEntry()
    private var copies = PostgreSQLSettings.Copies.standby

    static var settings: [Setting<PostgreSQLEntry>] {
        Setting("url", \.url, .postgreSQLURL) {
            "where the database is: "
            "`postgresql://user:password@host:5432/database?sslmode=verify-full`, best from "
            "`${file:…}`; never shown"
        }
        .default("required with `engine: postgresql`")
        NodeEntry.settings.map { $0.lifted(\.node) }
        Setting("copies", \.copies, .choice(["standby": .standby, "storage": .storage])) {
            "what keeps a second copy of each commit. `standby`: the server must have a "
            "synchronous standby. `storage`: the storage of the database, as PolarDB's does; the "
            "gateway cannot check it"
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
