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
    /// How requests travel.
    package var transport = TransportSettings()
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

    /// True when requests go to other endpoints, or by another way.
    func hasMoved(from old: DestinationSettings) -> Bool {
        endpoints != old.endpoints || transport.proxy != old.transport.proxy
    }

    /// Bounds of a gate that lets so many requests through.
    func bounds(most: Int) -> Gate.Bounds { Gate.Bounds(most: most, probeWaits) }
}

/// Settings that the forwarder cannot start with.
package struct DeliveryError: Error, Sendable, CustomStringConvertible {
    package let description: String
}
