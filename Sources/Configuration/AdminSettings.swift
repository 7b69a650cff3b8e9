package import Crypto
package import Net
import SLS

/// The group `admin`.
package struct AdminSettings: SettingGroup, Sendable, Equatable {
    package var listen = ListenAddress(host: "127.0.0.1", port: 8081)
    /// Absent, one is made and kept in the data directory.
    package var token: Secret?
    /// Tokens with a name of their own besides it.
    package var tokens: [NamedToken] = []
    /// Nil speaks plain HTTP.
    package var tls: TLSSettings?
    /// Whether the listener serves the console.
    package var hasConsole = true
    /// Lower-case names by which browsers reach the console, beside addresses and localhost.
    package var hosts: [String] = []
    /// For the commands that talk to the listener.
    package var client = ClientSettings()

    package struct ClientSettings: Sendable, Equatable {
        /// Trusted in place of the system's.
        package var authorities: String?
        /// What the command shows where certificates of clients are asked for.
        package var certificate: TLSSettings.Certificate?
    }

    static let listenSource = Override(option: "--admin-listen", variable: "SLUICE_ADMIN_LISTEN")
    private static let tokenSource = Override(variable: "SLUICE_ADMIN_TOKEN")
    private static let fileVariable = "SLUICE_ADMIN_TOKEN_FILE"
    private static var token: Kind<Secret> { .secret(bytesMin: AdminToken.bytesMin) }

    static var settings: [Setting<AdminSettings>] {
        Setting("listen", \.listen, .listenAddress) {
            "where operators connect; beyond loopback only with a token of your own, preferably "
            "with [TLS](listeners.md#tls)"
        }
        .from(listenSource).reload(.atRestart)
        Setting("token", \.token, .shaped(token.wants, .text())) {
            "bearer token, 32 characters or more; `SLUICE_ADMIN_TOKEN_FILE` names a file with it"
        } read: {
            readToken(&$0)
        }
        .from(tokenSource).default("made, kept in `data_dir/admin-token`")
        // Without a token of the operator's the generated one goes on.
        .appliedOnly { _, new in new.token != nil }
        Setting("tokens", \.tokens, .map(of: NamedToken.self)) {
            #"more tokens with names of their own: `{ grafana: { token: "…", role: read } }`; "#
            "`read` (the default) only reads, `full` also changes. See [admin](admin.md)"
        } read: {
            NamedToken.readAll($0.section("tokens"))
        }
        // A reload replaces certificates; a listener is added or removed by a restart.
        Setting("tls", \.tls, .group(of: TLSEntry.self)) {
            "TLS of the admin listener, see [listeners](listeners.md#tls)"
        } read: {
            TLSEntry.read($0.section("tls")).map(Optional.some)
        }
        .appliedOnly { $0.tls != nil && $1.tls != nil }
        Setting("console", \.hasConsole, .boolean) {
            "serve the [console](console.md) at `/console/`; `false` turns it off"
        }
        Setting("hosts", \.hosts, listOf: .hostName, 1...32) {
            "names by which browsers reach the console, beside addresses and `localhost`; others "
            "are refused, as another site's DNS could lead there"
        }
        Setting("client", \.client, .group(of: AdminClientEntry.self)) {
            "how commands reach the admin listener, see [listeners](listeners.md)"
        } read: {
            AdminClientEntry.read($0.section("client"))
        }
    }

    private static func isTokenGiven(_ section: borrowing Section) -> Bool {
        let inputs = section.report.inputs
        return section.has("token") || inputs.override(tokenSource) != nil
            || inputs.variable(fileVariable) != nil
    }

    private static func readToken(_ section: inout Section) -> Secret?? {
        let report = section.report
        let written = section.value("token", token, tokenSource)
        guard report.inputs.variable(fileVariable) != nil else { return written.map(Optional.some) }
        let fromFile = tokenFromFile(report)
        guard let variable = report.inputs.override(tokenSource)?.place,
            case .environment(let name) = variable
        else { return fromFile.map(Optional.some) }
        report.add(.environment(fileVariable), "\(name) is set too; set one of them")
        return nil
    }

    private static func tokenFromFile(_ report: ProblemReport) -> Secret? {
        let path = report.inputs.variable(fileVariable) ?? ""
        let file = Substitution(environment: [:])
        return report.reporting(
            .environment(fileVariable),
            try token.parse(try file.apply(to: "${file:\(path)}"))
        )
    }

    func check(_ section: borrowing Section) {
        guard !listen.isLoopback, !Self.isTokenGiven(section) else { return }
        section.problem("listen") {
            "\(listen) can be reached from other machines, so it wants a token of yours: set "
            "admin.token, SLUICE_ADMIN_TOKEN or \(Self.fileVariable), or listen on 127.0.0.1"
        }
    }
}

/// An entry of `admin.tokens`.
extension NamedToken: SettingGroup {
    init() { self.init(name: "", secret: Secret(""), role: .read) }

    static var settings: [Setting<NamedToken>] {
        Setting("token", \.secret, .secret(bytesMin: AdminToken.bytesMin)) {
            "bearer token, 32 characters or more"
        }
        .default("required")
        Setting("role", \.role, .word) {
            "`read` only reads, `full` also changes"
        }
    }

    fileprivate static func readAll(_ section: consuming Section) -> [NamedToken] {
        var tokens: [NamedToken] = []
        if section.names.count > AdminKeys.namedMax {
            section.report.add(
                section.place(of: section.names[AdminKeys.namedMax]),
                key: section.path,
                "has \(section.names.count) tokens; give at most \(AdminKeys.namedMax)"
            )
        }
        for name in section.names {
            let one = section.section(name)
            if name == AdminKeys.mainName {
                one.problem("token", "the name \(name) belongs to admin.token; choose another")
            }
            if !one.has("token") { one.problem("token", "is missing") }
            var token = read(one)
            token.name = name
            tokens.append(token)
        }
        section.refuseOthers()
        return tokens
    }
}

/// The group `admin.client` as the file has it.
struct AdminClientEntry: SettingGroup {
    private static let certificateSource = Override(
        option: "--admin-cert",
        variable: "SLUICE_ADMIN_CERT"
    )
    private static let keySource = Override(option: "--admin-key", variable: "SLUICE_ADMIN_KEY")

    private var authorities: String?
    private var chain: String?
    private var key: String?

    static var settings: [Setting<AdminClientEntry>] {
        Setting("ca", \.authorities, .path) {
            "the authority that signed the listener's certificate"
        }
        .from(Override(option: "--admin-ca", variable: "SLUICE_ADMIN_CA"))
        .default("the configured certificate itself, else the system's")
        Setting("certificate", \.chain, .path) { "the client certificate to show" }
            .from(certificateSource)
        Setting("key", \.key, .path) { "its key; one file may hold both" }
            .from(keySource).default("as `certificate`")
    }

    /// The command reads these files. A gateway does not check that they exist.
    static func read(_ section: consuming Section) -> AdminSettings.ClientSettings {
        var entry = AdminClientEntry()
        entry.readSettings(&section)
        var settings = AdminSettings.ClientSettings(authorities: entry.authorities)
        if let chain = entry.chain {
            settings.certificate = .init(chainFile: chain, keyFile: entry.key ?? chain)
        } else if let place = section.origin(of: "key", keySource),
            section.origin(of: "certificate", certificateSource) == nil
        {
            section.report.add(place, key: section.keyPath("key")) {
                "there is no certificate for it; give that too (admin.client.certificate, "
                "--admin-cert or SLUICE_ADMIN_CERT)"
            }
        }
        section.refuseOthers()
        return settings
    }
}
