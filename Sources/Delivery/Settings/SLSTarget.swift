package import SLS

/// A project of SLS, and how to write to it. The logstore comes with each packet.
package struct SLSTarget: Sendable {
    private static let endpointsMax = 8

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

    package init(
        endpoint: Endpoint,
        project: String,
        credential: String = "default",
        signature: SignatureVersion = .v4,
        region: String? = nil,
        compression: Compression = .lz4,
        tags: [(key: String, value: String)] = []
    ) {
        endpoints = [endpoint]
        self.project = project
        self.credential = credential
        self.signature = signature
        self.region = region
        self.compression = compression
        self.tags = tags
    }

    /// The preferred endpoint; setting it drops the others.
    package var endpoint: Endpoint {
        get { endpoints[0] }
        set { endpoints = [newValue] }
    }

    var problems: [DestinationSettings.Problem] {
        var problems: [DestinationSettings.Problem] = []
        func note(_ setting: String, _ reason: String) {
            problems.append(DestinationSettings.Problem(setting: setting, reason: reason))
        }
        if let reason = NamePattern.project.problem(with: project) { note("project", reason) }
        if !(1...Self.endpointsMax).contains(endpoints.count) {
            note(
                "endpoints",
                "there are \(endpoints.count) endpoints; give 1 to \(Self.endpointsMax)"
            )
        }
        if Set(endpoints).count != endpoints.count {
            note("endpoints", "an endpoint is given twice")
        }
        do throws(EndpointError) {
            _ = try SigningMethod(signature, region: region, endpoints: endpoints)
        } catch {
            note("region", error.description)
        }
        return problems
    }
}
