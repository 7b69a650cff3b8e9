import Net
import SLS

/// A destination and where it was described.
typealias PlacedDestination = (destination: Destination, place: ConfigurationProblem.Place)

extension Destination {
    private static let noDestination =
        "no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, "
        + "SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox"

    static func readAll(
        _ section: consuming Section,
        queue: QueueSettings
    ) -> [PlacedDestination] {
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
            var settings = section.section(name)
            if let decided = report.inputs.decided[name] { settings.overlay(decided) }
            let isDefault = name == defaultName
            if let destination = read(settings, name: name, isDefault: isDefault, queue: queue) {
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
        isDefault: Bool,
        queue: QueueSettings
    ) -> Destination? {
        let endpoints = section.required(
            "endpoint",
            variable: isDefault ? "SLUICE_ENDPOINT" : nil,
            inSandbox: (try? Endpoint(parsing: "http://localhost")).map { [$0] }
        ) { $0.list("endpoint", .endpoint, counts: 1...8, $1) }
        let project = section.required(
            "project",
            variable: isDefault ? "SLUICE_PROJECT" : nil,
            inSandbox: "sandbox"
        ) { $0.value("project", .name(.project), $1) }
        let logstore = section.required(
            "logstore",
            variable: isDefault ? "SLUICE_LOGSTORE" : nil,
            inSandbox: .any
        ) { $0.value("logstore", .logstore, $1) }
        let credential = section.value("credential", .text(upTo: 64)) ?? "default"
        let signatures: Kind<SignatureVersion> = .choice(["v1": .v1, "v4": .v4])
        let signature = section.value("signature", signatures) ?? .v4
        let region = readRegion(&section, isDefault: isDefault, endpoints ?? [], signature)
        let labels = Labels.read(&section)
        let intake = Intake.read(&section)
        let backlog = Backlog.read(&section, logstore: logstore, queue: queue)
        let transfer = Transfer.read(&section)
        section.refuseOthers()
        guard let endpoints, let project, let logstore else { return nil }
        return Destination(
            name: name,
            endpoints: endpoints,
            project: project,
            logstore: logstore,
            credential: credential,
            signature: signature,
            region: region,
            labels: labels,
            intake: intake,
            backlog: backlog,
            transfer: transfer
        )
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
