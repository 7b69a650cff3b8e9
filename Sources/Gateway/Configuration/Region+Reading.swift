import SLS

extension Destination {
    /// The region that is given, or else the one that an endpoint shows.
    static func readRegion(
        _ section: inout Section,
        isDefault: Bool,
        _ endpoints: [Endpoint],
        _ signature: SignatureVersion
    ) -> String? {
        let override = Override(variable: isDefault ? "SLUICE_REGION" : nil)
        let isGiven = section.has("region") || section.report.inputs.override(override) != nil
        let given = section.value("region", .name(.region), override)
        for (index, endpoint) in endpoints.enumerated()
        where endpoints[..<index].contains(endpoint) {
            section.problem("endpoint", "\(endpoint) is given twice; keep one of them")
        }
        let shown = endpoints.compactMap(\.region).reduce(into: [String]()) {
            if !$0.contains($1) { $0.append($1) }
        }
        if shown.count > 1 {
            section.problem(
                "endpoint",
                "the endpoints are in \(shown.joined(separator: " and ")), but a project is in one "
                    + "region only; keep those of its own region, or add log-global.aliyuncs.com"
            )
        }
        // Only a look-alike of SLS lives on this machine, and that has no region.
        let isLocal = !endpoints.isEmpty && endpoints.allSatisfy(\.isLoopback)
        let region = given ?? shown.first ?? (isLocal ? "local" : nil)
        if let endpoint = endpoints.first, !isGiven || given != nil,
            !section.report.inputs.isSandboxed
        {
            do throws(EndpointError) {
                _ = try SigningMethod(signature, region: region, endpoint: endpoint)
            } catch {
                section.problem("signature", error.description)
            }
        }
        return region
    }
}
