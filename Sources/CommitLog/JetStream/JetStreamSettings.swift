package import NATS
package import Net
import System

/// Where the commit log of a shard lies in NATS JetStream.
package struct JetStreamSettings: Sendable, Equatable {
    package var servers: [NATSServerAddress]
    package var authentication: NATSSettings.Authentication
    /// nil: TLS is used only with servers that demand it or have a `tls://` address.
    package var tls: OutboundTLS?
    /// Several clusters of Sluice may share the servers.
    package var cluster: String
    /// The gateway's name in the cluster, with which the names of its shards begin.
    package var node: String
    /// Copies of each stream, on as many servers.
    package var replicas: Int

    package init(
        servers: [NATSServerAddress],
        authentication: NATSSettings.Authentication = .none,
        tls: OutboundTLS? = nil,
        cluster: String = "main",
        node: String,
        replicas: Int = 3
    ) {
        self.servers = servers
        self.authentication = authentication
        self.tls = tls
        self.cluster = cluster
        self.node = node
        self.replicas = replicas
    }

    /// How a gateway connects to the servers.
    package var client: NATSSettings {
        var settings = NATSSettings(
            servers: servers,
            authentication: authentication,
            tls: tls,
            name: "sluice/\(Version.current) \(node)",
            minimumVersion: JetStreamLog.minimumVersion
        )
        settings.inboxPrefix = "sluice.\(cluster).inbox"
        return settings
    }
}
