package import SLS

/// A project of SLS, and how to write to it. The logstore comes with each packet.
package struct SLSTarget: Sendable {
    /// Where the region is reached: the first while it answers, else the next (see
    /// `EndpointChoice`).
    package var endpoints: [Endpoint]
    package var project: String
    /// The credential's name.
    package var credential: String
    package var signature: SignatureVersion
    /// For signature v4, where no endpoint's name shows it.
    package var region: String?
    package var compression: Compression

    package init(
        endpoints: [Endpoint],
        project: String,
        credential: String = "default",
        signature: SignatureVersion = .v4,
        region: String? = nil,
        compression: Compression = .lz4
    ) {
        self.endpoints = endpoints
        self.project = project
        self.credential = credential
        self.signature = signature
        self.region = region
        self.compression = compression
    }

    /// The preferred endpoint; setting it drops the others.
    package var endpoint: Endpoint {
        get { endpoints[0] }
        set { endpoints = [newValue] }
    }
}
