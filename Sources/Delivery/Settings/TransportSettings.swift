package import HTTPClient
package import System

/// How requests travel to a destination: for how long, through which proxy, and whose certificates
/// are trusted.
package struct TransportSettings: Sendable, Equatable {
    /// Until there is a connection: name, TCP, TLS, and what a proxy needs. On weak networks SLS's
    /// SDKs advise 20 s for this and for `sendTimeout`.
    package var connectTimeout: Duration = .seconds(10)
    /// From the start of a request to the end of its answer, in addition to the time that its body
    /// may take.
    package var sendTimeout: Duration = .seconds(15)
    /// A request that moves no byte for that long is given up. Nil: as long as `sendTimeout`, so
    /// that an operator who is patient with the answer need not know of this one.
    package var stallTimeout: Duration?
    /// Certificate authorities to trust instead of the system's, as a PEM file; also for an https
    /// proxy.
    package var certificateAuthorities: String?
    /// Shown to a server that asks for one.
    package var clientCertificate: TransferOptions.ClientCertificate?
    /// What all requests go through.
    package var proxy: Proxy?
    /// Where the addresses of hosts come from, in order. Empty: from the system, by curl. With a
    /// proxy they are not used, because the proxy resolves names.
    package var resolvers: ResolverRules = []

    package init() {}

    /// A connection must manage at least so much. All requests share the uplink: on 1 Mbit/s eight
    /// of them have no more than this each.
    private static let slowestBytesPerSecond = 16 << 10

    /// How long a request with such a body may take. One that makes no progress ends long before,
    /// by the stall timeout.
    func timeLimit(bodyBytes: Int) -> Duration {
        sendTimeout + .milliseconds(bodyBytes * 1000 / Self.slowestBytesPerSecond)
    }

    /// What a request needs of its connection. Connections that are older than `connectionsSince`
    /// are not used.
    func options(connectionsSince: Moment? = nil) -> TransferOptions {
        var options = TransferOptions(connectTimeout: connectTimeout)
        if let certificateAuthorities { options.trust = .authorities(file: certificateAuthorities) }
        options.proxy = proxy.map {
            TransferOptions.ProxyAccess(address: $0.address, user: $0.user, password: $0.password)
        }
        options.clientCertificate = clientCertificate
        options.stallTimeout = stallTimeout ?? sendTimeout
        options.connectionsSince = connectionsSince
        return options
    }

    /// True when connections that were made with the old settings must not be used: they may have
    /// taken another way, or trusted other authorities. A file of the same name may have another
    /// content.
    func needsNewConnections(after old: TransportSettings) -> Bool {
        certificateAuthorities != nil || old.certificateAuthorities != nil
            || clientCertificate != nil || old.clientCertificate != nil || proxy != old.proxy
    }
}

extension TransferLoop {
    convenience init(forDelivery connections: Int) throws(DeliveryError) {
        do throws(CurlUnavailable) {
            try self.init(connections: connections)
        } catch {
            throw DeliveryError(description: error.description)
        }
    }
}
