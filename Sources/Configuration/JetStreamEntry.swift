import CommitLog
import Crypto
import NATS
import Net
import System

/// The group `queue.jetstream` as the file has it.
struct JetStreamEntry: SettingGroup {
    private static let serversMax = 16
    private static let credentialBytesMax = 64 << 10

    private var servers: [NATSServerAddress] = []
    private var cluster = "main"
    private var node = machineName().flatMap(nodeName(ofHost:))
    private var replicas = 3
    private var credentials: String?
    private var nkey: String?
    private var user: String?
    private var password: Secret?
    private var token: Secret?
    private var tls: JetStreamTLSEntry?

    init() {}

    static var settings: [Setting<JetStreamEntry>] {
        Setting(
            "servers",
            \.servers,
            listOf: .natsServer,
            1...serversMax,
            default: "required with `engine: jetstream`",
            reload: .atRestart,
            as: { $0 },
            shownAs: { $0 }
        ) {
            """
            the brokers to ask first; they name the others of their cluster. `nats://host:port`, or \
            `tls://host:port` to use TLS; the usual port is 4222; up to 16
            """
        }
        Setting("cluster", \.cluster, .namePart(upTo: 32), reload: .atRestart) {
            """
            the name of the cluster of gateways, as several may share the brokers; up to 32 letters, \
            digits, `-` and `_`
            """
        }
        Setting(
            "node",
            \.node,
            .namePart(
                upTo: 64,
                "; without the setting it is the host's name, with '_' for other characters"
            ),
            default: "the host's name, with `_` for other characters",
            reload: .atRestart
        ) {
            """
            the name of this gateway. Each of the cluster has another one and keeps it across restarts; \
            up to 64 letters, digits, `-` and `_`
            """
        }
        Setting(
            "replicas",
            \.replicas,
            .choice(["1": 1, "3": 3, "5": 5]),
            reload: .atRestart
        ) {
            "brokers that keep each commit: `1`, `3` or `5`; more than half of them must confirm it"
        }
        Setting("credentials", \.credentials, .path, reload: .atRestart) {
            """
            a credentials file, with a user's JWT and seed. Give at most one of this, `nkey`, `user` \
            with `password`, and `token`
            """
        }
        Setting("nkey", \.nkey, .path, reload: .atRestart) {
            "a file with the seed of a user's nkey"
        }
        Setting("user", \.user, .userName, reload: .atRestart) {
            "the user to authenticate as, with `password`"
        }
        Setting("password", \.password, .credential, reload: .atRestart) {
            "the password of `user`, best from `${file:…}`"
        }
        Setting("token", \.token, .credential, reload: .atRestart) {
            "the token of the brokers, best from `${file:…}`"
        }
        Setting(
            SettingDescription(
                key: "tls",
                isImmediate: false,
                members: JetStreamTLSEntry.descriptions
            ),
            \.tls,
            reload: .atRestart,
            show: { $0.tls.map(\.value) ?? .absent }
        ) { JetStreamTLSEntry.read($0.section("tls")).map(Optional.some) }
    }

    /// The row of the group `queue`.
    static var setting: Setting<QueueSettings> {
        Setting(
            description: SettingDescription(
                key: "jetstream",
                help: "the brokers of `engine: jetstream`",
                isImmediate: false,
                members: descriptions
            ),
            read: { section, queue in
                queue.jetStream = read(&section, for: queue.engine)
                return queue.jetStream != nil
            },
            changes: { old, new in
                // With another engine, that one's row tells the change.
                guard let before = old.jetStream, let after = new.jetStream else { return [] }
                return JetStreamEntry(before).changes(to: JetStreamEntry(after), at: "jetstream.")
            },
            apply: { _, _ in },
            show: { $0.jetStream.map { .present(JetStreamEntry($0).shown) } ?? .absent }
        )
    }

    /// A host's name as a node's. Names of streams contain it, and NATS allows no dots there. nil: the name is empty.
    static func nodeName(ofHost host: String) -> String? {
        let name = String(host.map { $0.isOfNamePart ? $0 : "_" }.prefix(64))
        return name.isEmpty ? nil : name
    }

    // MARK: - Reading

    /// nil with another engine, and if the group is wrong, which is reported.
    private static func read(
        _ queue: inout Section,
        for engine: QueueSettings.Engine
    ) -> JetStreamSettings? {
        var section = queue.section("jetstream")
        var entry = JetStreamEntry()
        entry.readSettings(&section)
        section.refuseEmpty()
        entry.refuseRepeatedServers(section)
        let authentication = entry.authentication(section)
        entry.checkFiles(section)
        // A wrong engine, which is reported, may have meant either.
        if !queue.report.hasProblem(with: queue.keyPath("engine")) {
            entry.checkUse(of: section, in: queue, by: engine)
        }
        section.refuseOthers()
        guard engine == .jetStream, !entry.servers.isEmpty, let node = entry.node else {
            return nil
        }
        return JetStreamSettings(
            servers: entry.servers,
            authentication: authentication,
            tls: entry.tls?.settings,
            cluster: entry.cluster,
            node: node,
            replicas: entry.replicas
        )
    }

    private func checkUse(
        of section: borrowing Section,
        in queue: borrowing Section,
        by engine: QueueSettings.Engine
    ) {
        let report = queue.report
        if engine != .jetStream, queue.has("jetstream") {
            queue.problem(
                "jetstream",
                "nothing uses it with engine: sqlite; set queue.engine: jetstream, or take the group away"
            )
        }
        guard engine == .jetStream, !report.hasProblem(with: section.path) else { return }
        let place = section.isInFile ? section.ownPlace : queue.place(of: "engine")
        if node == nil {
            report.add(
                place,
                key: section.keyPath("node"),
                "is missing, and the host has no name; give the gateway a name"
            )
        }
        guard !section.names.contains("servers") else { return }
        report.add(
            place,
            key: section.keyPath("servers"),
            "is missing, and engine: jetstream needs it; name the brokers, as in "
                + "[\"nats://n1:4222\", \"nats://n2:4222\", \"nats://n3:4222\"]"
        )
    }

    private func refuseRepeatedServers(_ section: borrowing Section) {
        var places: Set<String> = []
        for server in section.readableItems("servers", .natsServer)
        where !places.insert("\(server.host.lowercased()):\(server.port)").inserted {
            section.problem("servers", "\(server) is given twice; name each broker once")
        }
    }

    /// Reports a second way to authenticate, and half of one.
    private func authentication(
        _ section: borrowing Section
    ) -> NATSSettings.Authentication {
        var ways: [String] = []
        for way in ["credentials", "nkey", section.has("user") ? "user" : "password", "token"]
        where section.has(way) { ways.append(way) }
        for way in ways.dropFirst() {
            section.problem(
                way,
                "\(ways[0]) is given too; keep one of credentials, nkey, user with password, and token"
            )
        }
        if section.has("user") {
            section.require("password", "give the password of user, or take user away")
        }
        if section.has("password") {
            section.require("user", "name the user of the password, or write a token as token")
        }
        if let credentials { return .credentials(file: credentials) }
        if let nkey { return .seed(file: nkey) }
        if let user, let password { return .user(user, password: password) }
        return token.map { .token($0) } ?? .none
    }

    private func checkFiles(_ section: borrowing Section) {
        guard section.report.inputs.readsCertificates else { return }
        for (key, file) in [("credentials", credentials), ("nkey", nkey)] {
            guard let file else { continue }
            do throws(FileProblem) {
                _ = try fileContent(file, bytesMax: Self.credentialBytesMax, waits: false)
            } catch {
                section.problem(
                    key,
                    "\(file) cannot be read: \(error.reason); check the path and that the gateway's user may "
                        + "read the file"
                )
            }
        }
    }

    /// The other way, for what is shown and compared.
    private init(_ settings: JetStreamSettings) {
        servers = settings.servers
        cluster = settings.cluster
        node = settings.node
        replicas = settings.replicas
        tls = settings.tls.map(JetStreamTLSEntry.init)
        switch settings.authentication {
        case .none: break
        case .credentials(let file): credentials = file
        case .seed(let file): nkey = file
        case .user(let name, let secret): (user, password) = (name, secret)
        case .token(let secret): token = secret
        }
    }
}

// MARK: - Kinds

extension Kind<NATSServerAddress> {
    /// Operators may write a password into a URL, so no message repeats any of it.
    fileprivate static var natsServer: Kind {
        Kind(wants: "a broker such as nats://n1:4222", show: { .text("\($0)") }) {
            text throws(Mismatch) in
            guard !text.contains("@") else {
                throw Mismatch(
                    "holds a name, password or token; give user and password, or token, beside servers"
                )
            }
            guard text.contains("://") else {
                throw Mismatch(
                    "has no scheme; write it as nats://n1:4222, or tls://n1:4222 for TLS"
                )
            }
            guard let server = NATSServerAddress(text) else {
                throw Mismatch(
                    "is not the address of a broker; write it as nats://n1:4222, tls://n1:4222 or "
                        + "nats://[2001:db8::1]:4222"
                )
            }
            return server
        }
    }
}

extension Kind<String> {
    /// A part of a stream's name.
    fileprivate static func namePart(upTo charactersMax: Int, _ remedy: String = "") -> Kind {
        Kind(
            wants: "a name",
            .text(pattern: "^[A-Za-z0-9_-]{1,\(charactersMax)}$"),
            show: { .text($0) }
        ) { text throws(Mismatch) in
            guard (1...charactersMax).contains(text.utf8.count), text.allSatisfy(\.isOfNamePart)
            else {
                throw Mismatch(
                    "\(quoted(text)) is not 1 to \(charactersMax) letters, digits, '-' and '_'\(remedy)"
                )
            }
            return text
        }
    }

    fileprivate static var userName: Kind {
        Kind(wants: "a user's name", show: { .text($0) }) { text throws(Mismatch) in
            try checkCredential(text)
            return text
        }
    }
}

extension Kind<Secret> {
    /// A password or token that the brokers chose, so it may have spaces and letters beyond ASCII.
    fileprivate static var credential: Kind {
        Kind(wants: "a secret") { text throws(Mismatch) in
            try checkCredential(text)
            return Secret(text)
        }
    }
}

private func checkCredential(_ text: String) throws(Mismatch) {
    guard !text.isEmpty else { throw Mismatch("is empty; give it, or take the line away") }
    guard text.utf8.count <= 1024 else { throw Mismatch("is longer than 1024 bytes") }
    guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
        throw Mismatch("has line ends or other control characters; give one line of text")
    }
}

extension Character {
    fileprivate var isOfNamePart: Bool {
        isASCII && (isLetter || isNumber || self == "-" || self == "_")
    }
}
