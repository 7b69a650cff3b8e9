package import SLS

/// A named place to deliver to. The logstore comes with each packet.
package struct DestinationSettings: Sendable {
    package var name: String
    /// Where the region is reached: the first while it answers, else the next (see `EndpointChoice`).
    package var endpoints: [Endpoint]
    package var project: String
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
    /// For signature v4, where no endpoint's name shows it.
    package var region: String?
    package var compression: Compression
    /// Added to every packet; a tag that the stream has already is left as the stream has it.
    package var tags: [(key: String, value: String)]

    /// Requests in flight to one logstore at most; to all of them together twice as many.
    package var concurrency = 8
    /// Packets that are refused for want of a permission are dropped after one more try, as the SDKs do
    /// with `DropUnauthorizedLog`. Otherwise they wait for the permission.
    package var dropUnauthorized = false
    /// The longest waits of a gate that lets single requests through, from the first one on.
    var probeWaits = Backoff.retry
    /// Until there is a connection: name, TCP, TLS, and what a proxy needs. On weak networks SLS's SDKs
    /// advise 20 s for this and for `sendTimeout`.
    package var connectTimeout: Duration = .seconds(10)
    /// From the start of a request to the end of its answer, in addition to the time that its body may
    /// take.
    package var sendTimeout: Duration = .seconds(15)
    /// A request that moves no byte for that long is given up. Nil: as long as `sendTimeout`, so that
    /// who is patient with the answer need not know of this one.
    package var stallTimeout: Duration?
    /// Certificate authorities to trust instead of the system's, as a PEM file; also for a proxy that is
    /// spoken to by https.
    package var certificateAuthorities: String?
    /// What all requests go through.
    package var proxy: Proxy?
    /// SLS's clock minus the host's (the SDKs' NtpTimeOffset), for signing until SLS has told.
    package var clockOffset: Duration = .zero

    package init(
        name: String,
        endpoint: Endpoint,
        project: String,
        credential: String = "default",
        signature: SignatureVersion = .v4,
        region: String? = nil,
        compression: Compression = .lz4,
        tags: [(key: String, value: String)] = []
    ) {
        self.name = name
        endpoints = [endpoint]
        self.project = project
        self.credential = credential
        self.signature = signature
        self.region = region
        self.compression = compression
        self.tags = tags
    }
}

extension DestinationSettings {
    /// The preferred endpoint; setting it drops the others.
    package var endpoint: Endpoint {
        get { endpoints[0] }
        set { endpoints = [newValue] }
    }

    /// Of a gate that lets so many requests through.
    func bounds(most: Int) -> Gate.Bounds { Gate.Bounds(most: most, probeWaits) }

    /// True when requests may have to take another route, or trust other authorities, than with the old settings.
    func needsNewConnections(after old: DestinationSettings) -> Bool {
        // A file of the same name may have another content.
        certificateAuthorities != nil || old.certificateAuthorities != nil || proxy != old.proxy
    }

    /// What a connection must manage at least. All requests share the uplink: on 1 Mbit/s eight of them
    /// have no more than this each.
    private static let slowestBytesPerSecond = 16 << 10

    /// How long a request with such a body may take. One that makes no progress ends long before, by
    /// the stall timeout.
    func timeLimit(bodyBytes: Int) -> Duration {
        sendTimeout + .milliseconds(bodyBytes * 1000 / Self.slowestBytesPerSecond)
    }
}

/// Settings that the forwarder cannot start with.
package struct DeliveryError: Error, Sendable, CustomStringConvertible {
    package let description: String
}
