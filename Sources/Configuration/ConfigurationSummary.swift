import CommitLog
import Credentials
import NATS
import Net
import Routing
import SLS
import System

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
