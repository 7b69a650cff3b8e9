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
        let isGiven = section.has("region") || section.overridden("region", override) != nil
        let given = section.value("region", .name(.region), override)
        let readable = section.readableItems(
            "endpoint",
            .endpoint,
            Override(variable: isDefault ? "SLUICE_ENDPOINT" : nil)
        )
        for (index, endpoint) in readable.enumerated()
        where readable[..<index].contains(endpoint) {
            section.problem("endpoint", "\(endpoint) is given twice; keep one of them")
        }
        // Only a look-alike of SLS lives on this machine, and that has no region.
        let isLocal = !endpoints.isEmpty && endpoints.allSatisfy(\.isLoopback)
        let region = given ?? endpoints.lazy.compactMap(\.region).first ?? (isLocal ? "local" : nil)
        if !endpoints.isEmpty, !isGiven || given != nil, !section.report.inputs.isSandboxed {
            do throws(EndpointError) {
                _ = try SigningMethod(
                    signature,
                    region: given ?? (isLocal ? "local" : nil),
                    endpoints: endpoints
                )
            } catch {
                section.problem("region", error.description)
            }
        }
        return region
    }
}
