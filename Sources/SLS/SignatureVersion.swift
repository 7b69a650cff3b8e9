/// Which of SLS's two signatures a destination uses.
package enum SignatureVersion: String, Sendable, CaseIterable {
    case v1, v4
}

/// A signature version with the values it needs besides the credential.
package enum SigningMethod: Sendable, Equatable {
    case v1
    case v4(region: String)

    /// Chooses the method for all endpoints of a destination. The operator's region wins over the
    /// one in the endpoints' names. If only some names show a region, as beside an accelerated
    /// endpoint, it holds for all, because a project lives in one region.
    package init(
        _ version: SignatureVersion,
        region: String?,
        endpoints: [Endpoint]
    ) throws(EndpointError) {
        let shown = Set(endpoints.compactMap(\.region)).sorted()
        if region == nil, shown.count > 1 {
            throw EndpointError(
                "the endpoints are in different regions (\(shown.joined(separator: ", "))), but a "
                    + "project is in one: list only endpoints of that region, or set region if the "
                    + "names mislead"
            )
        }
        let region = region ?? shown.first
        if let region, let problem = NamePattern.region.problem(with: region) {
            throw EndpointError(problem)
        }
        // The disaster-recovery regions refuse v1; the Go and Java SDKs switch to v4 by themselves
        // too.
        let mustBeV4 = region?.contains("-acdr-ut-") ?? false
        guard version == .v4 || mustBeV4 else {
            self = .v1
            return
        }
        guard let region else {
            let names = endpoints.map { "'\($0)'" }.joined(separator: ", ")
            throw EndpointError(
                "signature v4 needs a region, and the endpoint \(names) does not show one: "
                    + "set region (for example cn-hangzhou), or use signature v1"
            )
        }
        self = .v4(region: region)
    }

    /// The same for a single endpoint.
    package init(
        _ version: SignatureVersion,
        region: String?,
        endpoint: Endpoint
    ) throws(EndpointError) {
        try self.init(version, region: region, endpoints: [endpoint])
    }
}
