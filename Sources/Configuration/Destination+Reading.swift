import Net
import SLS

/// What the configuration says of one destination. What could be read stands here even where the rest is wrong, so
/// that checks between settings do not wait for it.
struct DescribedDestination {
    let name: String
    let place: ConfigurationProblem.Place
    var project: String?
    var logstore: Destination.Logstore?
    /// Nil when it could not be read.
    var credential: String?
    var credentialPlace: ConfigurationProblem.Place
    /// Nil when something in it is wrong, which is reported.
    var destination: Destination?
}

extension Destination {
    private static let noDestination =
        "no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, "
        + "SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox"

    static func readAll(
        _ section: consuming Section,
        queue: QueueSettings
    ) -> [DescribedDestination] {
        let report = section.report
        let names = section.names.isEmpty ? ["default"] : section.names
        // The environment speaks of the default destination, and makes one where there is none.
        let defaultName = names.contains("default") ? "default" : names[0]
        var found: [DescribedDestination] = []
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
            var described = DescribedDestination(
                name: name,
                place: section.place(of: name),
                credentialPlace: section.place(of: name)
            )
            var settings = section.section(name)
            if let decided = report.inputs.decided[name] { settings.overlay(decided) }
            let isDefault = name == defaultName
            read(settings, into: &described, isDefault: isDefault, queue: queue)
            found.append(described)
        }
        section.refuseOthers()
        refuseTwins(found, report)
        return found
    }

    private static func read(
        _ section: consuming Section,
        into described: inout DescribedDestination,
        isDefault: Bool,
        queue: QueueSettings
    ) {
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
        let written = section.value("credential", .text(upTo: 64))
        let credential = written ?? "default"
        if section.has("credential") { described.credentialPlace = section.place(of: "credential") }
        described.project = project
        described.logstore = logstore
        described.credential = section.has("credential") ? written : credential
        let signatures: Kind<SignatureVersion> = .choice(["v1": .v1, "v4": .v4])
        let signature = section.value("signature", signatures) ?? .v4
        let region = readRegion(&section, isDefault: isDefault, endpoints ?? [], signature)
        let labels = Labels.read(&section)
        var intake = Intake.read(&section)
        intake.stamps = SenderStamps.read(section.section("stamp"), tags: labels.tags.map(\.key))
        let backlog = Backlog.read(&section, logstore: logstore, queue: queue)
        let transfer = Transfer.read(&section)
        section.refuseOthers()
        guard let endpoints, let project, let logstore else { return }
        described.destination = Destination(
            name: described.name,
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
    private static func refuseTwins(_ found: [DescribedDestination], _ report: ProblemReport) {
        for (index, one) in found.enumerated() {
            guard let project = one.project, let logstore = one.logstore else { continue }
            let twin = found[..<index].first { $0.project == project && $0.logstore == logstore }
            guard let twin else { continue }
            report.add(
                one.place,
                key: "destinations.\(one.name)",
                "has the project and logstore of \(twin.name), "
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
