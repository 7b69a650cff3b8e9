import Net
import SLS

/// A destination and where it was described.
typealias PlacedDestination = (destination: Destination, place: ConfigurationProblem.Place)

extension Destination {
    private static let noDestination =
        "no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, "
        + "SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox"

    static func readAll(_ section: consuming Section) -> [PlacedDestination] {
        let report = section.report
        let names = section.names.isEmpty ? ["default"] : section.names
        // The environment speaks of the default destination, and makes one where there is none.
        let defaultName = names.contains("default") ? "default" : names[0]
        var found: [PlacedDestination] = []
        if section.names.isEmpty, !report.inputs.isSandboxed,
            !["SLUICE_ENDPOINT", "SLUICE_PROJECT", "SLUICE_LOGSTORE"].contains(where: {
                report.inputs.variable($0) != nil
            })
        {
            report.add(.whole, noDestination)
            section.refuseOthers()
            return []
        }
        for name in names {
            if !isDestinationName(name) {
                section.problem(name, "a name has 1 to 64 letters, digits, '-', '_' and '.'")
            }
            let place = section.place(of: name)
            let settings = section.section(name)
            if let destination = read(settings, name: name, isDefault: name == defaultName) {
                found.append((destination, place))
            }
        }
        section.refuseOthers()
        refuseTwins(found, report)
        return found
    }

    private static func read(
        _ section: consuming Section,
        name: String,
        isDefault: Bool
    ) -> Destination? {
        let endpoint = section.required(
            "endpoint",
            .endpoint,
            variable: isDefault ? "SLUICE_ENDPOINT" : nil,
            inSandbox: try? Endpoint(parsing: "http://localhost")
        )
        let project = section.required(
            "project",
            .name(.project),
            variable: isDefault ? "SLUICE_PROJECT" : nil,
            inSandbox: "sandbox"
        )
        let logstore = section.required(
            "logstore",
            .logstore,
            variable: isDefault ? "SLUICE_LOGSTORE" : nil,
            inSandbox: .any
        )
        let credential = section.value("credential", .text(upTo: 64)) ?? "default"
        let signatures: Kind<SignatureVersion> = .choice(["v1": .v1, "v4": .v4])
        let signature = section.value("signature", signatures)
        let override = Override(variable: isDefault ? "SLUICE_REGION" : nil)
        let isRegionGiven = section.has("region") || section.report.inputs.override(override) != nil
        let givenRegion = section.value("region", .name(.region), override)
        let labels = Labels.read(&section)
        let transfer = Transfer.read(&section)
        let path = section.path
        let place = section.place(of: "signature")
        let report = section.report
        section.refuseOthers()
        guard let endpoint, let project, let logstore else { return nil }
        // Only a look-alike of SLS lives on this machine, and that has no region.
        let region = givenRegion ?? (endpoint.isLoopback ? "local" : nil)
        let destination = Destination(
            name: name,
            endpoint: endpoint,
            project: project,
            logstore: logstore,
            credential: credential,
            signature: signature ?? .v4,
            region: region,
            labels: labels,
            transfer: transfer
        )
        if !isRegionGiven || givenRegion != nil, !report.inputs.isSandboxed {
            do throws(EndpointError) {
                _ = try SigningMethod(destination.signature, region: region, endpoint: endpoint)
            } catch {
                report.add(place, key: "\(path).signature", error.description)
            }
        }
        return destination
    }

    /// Two destinations for the same project and logstore: no request could tell them apart.
    private static func refuseTwins(_ found: [PlacedDestination], _ report: ProblemReport) {
        for (index, (destination, place)) in found.enumerated() {
            let twin = found[..<index].first { earlier, _ in
                earlier.project == destination.project && earlier.logstore == destination.logstore
            }
            guard let twin else { continue }
            report.add(
                place,
                key: "destinations.\(destination.name)",
                "has the project and logstore of \(twin.destination.name), "
                    + "so nothing would ever reach it"
            )
        }
    }

    private static func isDestinationName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.allSatisfy {
                $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0))
            }
    }
}
