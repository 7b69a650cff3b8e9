import CommitLog
import Crypto
import NATS
import Net
import System

/// The group `queue.jetstream` as the file has it.
struct JetStreamEntry: EngineEntry, Equatable, Sendable {
    private static let serversMax = 16
    private static let credentialBytesMax = 64 << 10

    private var servers: [NATSServerAddress] = []
    private(set) var node = NodeEntry()
    private var replicas = 3
    private var weakens = false
    private var credentials: String?
    private var nkey: String?
    private var user: String?
    private var password: Secret?
    private var token: Secret?
    private var tls: JetStreamTLSEntry?

    static var settings: [Setting<JetStreamEntry>] {
        Setting("servers", \.servers, listOf: .natsServer, 1...serversMax) {
            "the brokers to ask first; they name the others of their cluster. `nats://host:port`, "
            "or `tls://host:port` to use TLS; the usual port is 4222; up to 16"
        }
        .default("required with `engine: jetstream`")
        NodeEntry.settings.map { $0.lifted(\.node) }
        Setting("replicas", \.replicas, .choice(["1": 1, "3": 3, "5": 5])) {
            "brokers that keep each commit: `1`, `3` or `5`; more than half of them must confirm it"
        }
        Setting("weaken", \.weakens, .boolean) {
            "`true`: a start may take copies, or brokers that sync, from streams that have them, "
            "which all gateways share. Otherwise a start with weaker settings is refused. Remove it "
            "when all gateways have started"
        }
        Setting("credentials", \.credentials, .path) {
            "a credentials file, with a user's JWT and seed. Give at most one of this, `nkey`, "
            "`user` with `password`, and `token`"
        }
        Setting("nkey", \.nkey, .path) { "a file with the seed of a user's nkey" }
        Setting("user", \.user, .userName) { "the user to authenticate as, with `password`" }
        Setting("password", \.password, .credential) {
            "the password of `user`, best from `${file:…}`"
        }
        Setting("token", \.token, .credential) { "the token of the brokers, best from `${file:…}`" }
        Setting(
            "tls",
            \.tls,
            .group(of: JetStreamTLSEntry.self),
            show: { $0.tls.map(\.value) ?? .absent }
        ) {
            ""
        } read: {
            JetStreamTLSEntry.read($0.section("tls")).map(Optional.some)
        }
        .reload(.atRestart)
    }

    static var engine: QueueSettings.Engine { .jetStream }
    static var path: WritableKeyPath<QueueSettings, JetStreamEntry?> { \.jetStreamEntry }
    static var help: String { "the brokers of `engine: jetstream`" }
    static var required: (key: String, remedy: String) {
        (
            "servers",
            "name the brokers, as in "
                + "[\"nats://n1:4222\", \"nats://n2:4222\", \"nats://n3:4222\"]"
        )
    }

    /// nil: something is missing, which is reported.
    var settings: JetStreamSettings? {
        guard !servers.isEmpty, let name = node.name else { return nil }
        return JetStreamSettings(
            servers: servers,
            authentication: authentication,
            tls: tls?.settings,
            cluster: node.cluster,
            node: name,
            replicas: replicas,
            weakens: weakens
        )
    }

    private var authentication: NATSSettings.Authentication {
        if let credentials { return .credentials(file: credentials) }
        if let nkey { return .seed(file: nkey) }
        if let user, let password { return .user(user, password: password) }
        return token.map { .token($0) } ?? .none
    }

    // MARK: - Checks

    func check(_ section: borrowing Section) {
        refuseRepeatedServers(section)
        checkAuthentication(section)
        checkFiles(section)
    }

    private func refuseRepeatedServers(_ section: borrowing Section) {
        var places: Set<String> = []
        for server in section.readableItems("servers", .natsServer)
        where !places.insert("\(server.host.lowercased()):\(server.port)").inserted {
            section.problem("servers", "\(server) is given twice; name each broker once")
        }
    }

    /// Reports a second way to authenticate, and half of one.
    private func checkAuthentication(_ section: borrowing Section) {
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
    }

    private func checkFiles(_ section: borrowing Section) {
        guard section.report.inputs.readsCertificates else { return }
        for (key, file) in [("credentials", credentials), ("nkey", nkey)] {
            guard let file else { continue }
            do throws(FileProblem) {
                _ = try fileContent(file, bytesMax: Self.credentialBytesMax, waits: false)
            } catch {
                section.problem(key) {
                    "\(file) cannot be read: \(error.reason); check the path and that the "
                    "gateway's user may read the file"
                }
            }
        }
    }
}

// MARK: - Kinds

extension Kind<NATSServerAddress> {
    /// Operators may write a password into a URL, so no message repeats any of it.
    fileprivate static var natsServer: Kind {
        Kind(wants: "a broker such as nats://n1:4222", show: { .text("\($0)") }) {
            text throws(Mismatch) in
            try expect(!text.contains("@")) {
                "holds a name, password or token; give user and password, or token, beside servers"
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
    fileprivate static var userName: Kind {
        Kind(wants: "a user's name", show: { .text($0) }) { text throws(Mismatch) in
            try checkLine(text)
            return text
        }
    }
}

extension Kind<Secret> {
    /// A password or token that the brokers chose, so it may have spaces and letters beyond ASCII.
    fileprivate static var credential: Kind {
        Kind(wants: "a secret") { text throws(Mismatch) in
            try checkLine(text)
            return Secret(text)
        }
    }
}

/// The group `queue.jetstream.tls` as the file has it.
struct JetStreamTLSEntry: SettingGroup, Equatable, Sendable {
    static let reload = Reload.atRestart

    private var authorities: String?
    private var chain: String?
    private var key: String?

    static var settings: [Setting<JetStreamTLSEntry>] {
        Setting("ca_file", \.authorities, .path) {
            "authorities that may have signed the brokers' certificates. A group `tls`, even an "
            "empty one (`{}`), makes all connections use TLS"
        }
        .default("the system's")
        Setting("certificate", \.chain, .path) {
            "the client certificate to show, with those between it and its authority"
        }
        Setting("key", \.key, .path) { "its key" }
    }

    /// nil without the group.
    static func read(_ section: consuming Section) -> JetStreamTLSEntry? {
        guard section.isInFile else { return nil }
        var entry = JetStreamTLSEntry()
        entry.readSettings(&section)
        section.refuseEmpty()
        if section.has("certificate") {
            section.require("key", "name the file with the certificate's key (PEM)")
        }
        if section.has("key") {
            section.require("certificate", "name the file with the certificate of the key (PEM)")
        }
        entry.checkFiles(section)
        section.refuseOthers()
        return entry
    }

    private func checkFiles(_ section: borrowing Section) {
        guard section.report.inputs.readsCertificates else { return }
        var files = TLSFileCheck()
        if let authorities { files.note(authorities, .authorities, "ca_file", of: section) }
        if let chain { files.note(chain, .certificate, "certificate", of: section) }
        if let key { files.note(key, .key, "key", of: section) }
        files.run(settings.certificate.map { [$0] } ?? [], .tls12, of: section)
    }

    var settings: OutboundTLS {
        var settings = OutboundTLS(authorities: authorities)
        if let chain, let key { settings.certificate = .init(chainFile: chain, keyFile: key) }
        return settings
    }

    var value: SettingValue {
        self == JetStreamTLSEntry() ? .text("{}") : .present(shown)
    }
}
