import CommitLog
import Credentials
import NATS
import Net
import Routing
import SLS
package import System

/// What a configuration comes to, in a few lines for `sluice check`.
package enum ConfigurationSummary {
    package static func text(_ configuration: GatewayConfiguration) -> String {
        let queue = configuration.queue
        let token = configuration.admin.token == nil ? "a token of its own making" : "your token"
        func spoken(_ tls: TLSSettings) -> String {
            ", TLS\(certificates(of: tls.clientCertificates))"
        }
        let tls = configuration.admin.tls.map(spoken) ?? ""
        var lines = [
            "configuration is fine",
            "  devices      \(configuration.listen)",
            "  admin        \(configuration.admin.listen), with \(token)\(tls)",
            "  queue        \(configuration.dataDirectory), engine \(queue.engine.rawValue), up to "
                + "\(sizeText(queue.bytesMax)) or \(durationText(queue.ageMax)), "
                + "durability \(queue.durability)",
        ]
        if let log = queue.jetStream { lines.append("               \(brokers(of: log))") }
        if let log = queue.postgreSQL { lines.append("               \(database(of: log))") }
        if let secure = configuration.tls {
            let line = "  \(DeviceTLS.listener)  \(secure.listen)\(spoken(secure.settings))"
            lines.insert(line, at: 2)
        }
        if let address = configuration.webhook.address {
            lines.append("  webhook      \(address)")
        }
        if !configuration.routing.isEmpty {
            lines.append("  routing      \(configuration.routing.summary)")
        }
        for destination in configuration.destinations {
            let isDefault = destination.name == configuration.defaultDestination.name
            lines.append(
                "  destination  \(destination.name)\(isDefault ? " (default)" : ""): "
                    + target(of: destination, configuration)
            )
            lines += destination.particulars.map { "               \($0)" }
        }
        lines += configuration.warnings(at: .now).map { "  warning      \($0)" }
        return lines.joined(separator: "\n")
    }

    private static func brokers(of log: JetStreamSettings) -> String {
        let servers = log.servers.map(\.description).joined(separator: ", ")
        let access =
            switch log.authentication {
            case .none: "without authentication"
            case .user(let name, _): "as user \(name)"
            case .token: "with a token"
            case .seed(let file): "with the nkey in \(file)"
            case .credentials(let file): "with the credentials in \(file)"
            }
        return "node \(log.node) of cluster \(log.cluster), \(log.replicas) "
            + "replica\(log.replicas == 1 ? "" : "s"), at \(servers) \(access)"
            + (log.tls == nil ? "" : ", TLS")
    }

    private static func database(of log: PostgreSQLSettings) -> String {
        let place = log.target.map { ", \($0)\($0.isVerified ? ", TLS" : "")" } ?? ""
        return "node \(log.node) of cluster \(log.cluster), copies \(log.copies)\(place)"
    }

    private static func certificates(of clients: TLSSettings.ClientCertificates) -> String {
        switch clients {
        case .none: ""
        case .optional: " that may show a client's certificate"
        case .required: " and certificates of clients"
        }
    }

    private static func target(
        of destination: Destination,
        _ configuration: GatewayConfiguration
    ) -> String {
        guard destination.kind == .sls else {
            return "\(destination.kind.rawValue), \(destination.place)"
        }
        let logstore =
            destination.logstore == .any ? "any logstore" : destination.logstore.name
        let endpoints = destination.endpoints.map(\.description).joined(separator: ", else ")
        return "\(destination.project)/\(logstore) at \(endpoints), "
            + "signature \(destination.signature), key \(key(of: destination, configuration))"
    }

    /// Where the key comes from, and enough of its id to recognise it where it is at hand.
    private static func key(
        of destination: Destination,
        _ configuration: GatewayConfiguration
    ) -> String {
        switch configuration.credentials[destination.credential] {
        case nil: "none"
        case .fixed(let credential): shown(credential.accessKeyID)
        case .environment:
            shown(configuration.environment.variables["ALIBABA_CLOUD_ACCESS_KEY_ID"] ?? "")
        case let source?: "from \(source.kind)"
        }
    }

    private static func shown(_ id: String) -> String {
        id.count > 8 ? "\(id.prefix(4))…\(id.suffix(4))" : "\(id.prefix(2))…"
    }
}

extension GatewayConfiguration {
    /// What an operator should know at the start, though all of it can be served.
    package var startWarnings: [String] {
        listenerWarnings + directoryWarnings + queueWarnings + stampWarnings + routing.warnings
    }

    /// Each receipt is another one, so a stream of logs never gets a second request.
    private var stampWarnings: [String] {
        destinations.flatMap { destination in
            destination.intake.stamps.labels.filter { $0.isTag && $0.fact == .receipt }.map {
                "destinations.\(destination.name).stamp.receipt is a tag, so each request becomes a stream "
                    + "and a packet of its own, and queue.max_streams bounds how many wait; a field costs no "
                    + "more than its bytes: receipt: \($0.name)"
            }
        }
    }

    /// As above, with what is read from the files.
    package func warnings(at now: WallTime) -> [String] {
        startWarnings + certificateWarnings(at: now)
    }

    /// The image sets the variable, which an operator who mounts a configuration file does not see.
    private var directoryWarnings: [String] {
        guard let overruledDirectory else { return [] }
        return [
            "data_dir is \(overruledDirectory) in the configuration file, and the environment says "
                + "SLUICE_DATA_DIR=\(dataDirectory), which counts: the queue is there. Take one of them away; an "
                + "empty SLUICE_DATA_DIR leaves it to the file"
        ]
    }

    private var queueWarnings: [String] {
        var warnings: [String] = []
        if queue.jetStream?.replicas == 1 {
            warnings.append(
                "queue.jetstream.replicas is 1, so the disk of one broker holds the only copy of accepted logs; "
                    + "set it to 3, which needs three brokers"
            )
        }
        if queue.jetStream?.weakens == true {
            warnings.append(
                "queue.jetstream.weaken is true, so this gateway may take copies and brokers that sync from streams "
                    + "that all gateways share; remove it when all have started"
            )
        }
        if let log = queue.jetStream, let (secret, server) = log.exposed {
            warnings.append(
                "queue.jetstream.\(secret) and logs may travel unencrypted to \(server), or to a server that "
                    + "poses as it; give the brokers certificates and set queue.jetstream.tls"
            )
        }
        if let target = queue.postgreSQL?.target, !target.isVerified, !target.isLocal {
            warnings.append(
                "queue.postgresql.url does not say sslmode=verify-full, so its password and logs may travel "
                    + "unencrypted to \(target.servers.joined(separator: ", ")), or to a server that poses as "
                    + "it; add sslmode=verify-full, and sslrootcert with the file of the authority"
            )
        }
        return warnings
    }

    /// What an operator should know of listeners, though all of it can be served.
    var listenerWarnings: [String] {
        var warnings: [String] = []
        if !admin.listen.isLoopback, admin.tls == nil {
            warnings.append(
                "the admin listener \(admin.listen) can be reached from other machines, and tokens travel "
                    + "there in the open; give it a certificate (admin.tls), or listen on 127.0.0.1"
            )
        }
        if let listen = openToOthers, devices.keys.isEmpty, devices.tokens == nil {
            warnings.append(
                "the device listener \(listen) can be reached from other machines, and whoever reaches it may "
                    + "send logs; give devices keys (devices.keys), or listen on 127.0.0.1"
            )
        }
        return warnings
    }

    /// Where devices of other machines come in, and need no certificate for it.
    private var openToOthers: ListenAddress? {
        guard listen.isLoopback else { return listen }
        guard let tls, !tls.listen.isLoopback else { return nil }
        if case .required = tls.settings.clientCertificates { return nil }
        return tls.listen
    }

    /// What the files of certificates give reason for.
    private func certificateWarnings(at now: WallTime) -> [String] {
        let certificates = [tls?.settings, admin.tls].compactMap { settings in
            settings.flatMap { try? TLSContext($0) }
        }
        return certificates.flatMap { $0.warnings(at: now) }
    }
}

extension JetStreamSettings {
    /// A secret that a broker may ask for without TLS, and such a broker. Files of keys only sign.
    fileprivate var exposed: (secret: String, server: NATSServerAddress)? {
        let secret: String
        switch authentication {
        case .user: secret = "password"
        case .token: secret = "token"
        case .none, .seed, .credentials: return nil
        }
        let server = servers.first { !$0.wantsTLS && !IPAddress.isLoopback(host: $0.host) }
        guard tls == nil, let server else { return nil }
        return (secret, server)
    }
}
