/// Which of SLS's two signatures a destination uses.
package enum SignatureVersion: String, Sendable, CaseIterable {
    case v1, v4
}

/// A signature with what it needs besides the credential.
package enum SigningMethod: Sendable, Equatable {
    case v1
    case v4(region: String)

    /// Decides the method of a destination. The region that the operator gave wins over the one that
    /// the endpoint's name shows.
    package init(
        _ version: SignatureVersion,
        region: String?,
        endpoint: Endpoint
    ) throws(EndpointError) {
        let region = region ?? endpoint.region
        if let region, let problem = NamePattern.region.problem(with: region) {
            throw EndpointError(problem)
        }
        // The disaster-recovery regions refuse v1 (the SDKs of Go and Java switch by themselves too).
        let mustBeV4 = region?.contains("-acdr-ut-") ?? false
        guard version == .v4 || mustBeV4 else {
            self = .v1
            return
        }
        guard let region else {
            throw EndpointError(
                "signature v4 needs a region, and the endpoint '\(endpoint)' does not show one: "
                    + "set region (for example cn-hangzhou), or use signature v1"
            )
        }
        self = .v4(region: region)
    }
}
