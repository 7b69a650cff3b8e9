import Queue

/// One destination of the file. It keeps what could be read even where the rest is wrong, so that
/// checks between settings find all mistakes in one run.
struct DescribedDestination {
    private static let noDestination =
        "no destination: describe one in a file given with --config, set SLUICE_ENDPOINT, "
        + "SLUICE_PROJECT and SLUICE_LOGSTORE, or try without an account: sluice serve --sandbox"

    let name: String
    private let place: ConfigurationProblem.Place
    private var project: String?
    private var logstore: Destination.Logstore?
    /// Nil when it could not be read, and for a kind that needs none.
    private(set) var credential: String?
    private(set) var credentialPlace: ConfigurationProblem.Place
    /// Nil when something in it is missing, which is reported.
    private(set) var destination: Destination?

    /// The group `destinations`.
    static func readAll(
        _ group: consuming Section,
        queue: QueueSettings,
        guarded: GuardedFiles
    ) -> [DescribedDestination] {
        let report = group.report
        let names = group.names.isEmpty ? ["default"] : group.names
        // The environment speaks of the default destination, and makes one where there is none.
        let defaultName = names.contains("default") ? "default" : names[0]
        let sources = [
            Destination.endpointSource, Destination.projectSource, Destination.logstoreSource,
        ]
        if group.names.isEmpty, !report.inputs.isSandboxed,
            !sources.contains(where: { report.inputs.override($0) != nil })
        {
            report.add(.whole, noDestination)
            group.refuseOthers()
            return []
        }
        var found: [DescribedDestination] = []
        for name in names {
            if !isNameOfLetters(name) {
                group.problem(name, "a name has 1 to 64 letters, digits, '-', '_' and '.'")
            }
            let place = group.place(of: name)
            var section = group.section(name)
            section.takesOverrides = name == defaultName
            if let decided = report.inputs.decided[name] {
                section.overlay(decided)
                for key in decided.givenFileKeys {
                    section.problem(key) {
                        "names a file and cannot be changed by PATCH; change it in the "
                        "configuration file and reload"
                    }
                }
            }
            found.append(
                DescribedDestination(name, at: place, section, queue: queue, guarded: guarded)
            )
        }
        group.refuseOthers()
        refuseTwins(found, report)
        return found
    }

    private init(
        _ name: String,
        at place: ConfigurationProblem.Place,
        _ section: consuming Section,
        queue: QueueSettings,
        guarded: GuardedFiles
    ) {
        self.name = name
        self.place = place
        credentialPlace = section.has("credential") ? section.place(of: "credential") : place
        var destination = Destination(name: name)
        destination.backlog.overflow = queue.overflow
        destination.backlog.freshPercent = queue.freshPercent
        let first = ["kind", "preset"]
        let known = destination.readSettings(&section, only: first)
        // No key belongs to an unknown kind.
        guard known.contains("kind") || !section.has("kind") else { return }
        let kind = destination.kind
        if kind == .file { destination.file.guarded = guarded }
        destination.usePreset()
        let keys = Destination.descriptions.map(\.key)
            .filter { kind.has($0) && !first.contains($0) }
        let read = destination.readSettings(&section, only: keys)
        section.refuseKeys(of: kind)
        destination.complete(section, given: read, queue: queue)
        if read.contains("project") { project = destination.project }
        if read.contains("logstore") { logstore = destination.logstore }
        if read.contains("credential") || !section.has("credential") {
            credential = destination.credentialInUse
        }
        if read.isSuperset(of: Destination.needed(by: kind)) { self.destination = destination }
        section.refuseOthers()
    }

    /// Two writers of one file, or of the standard output, would mix their lines.
    private static func refuseSharedOutputs(
        _ found: [DescribedDestination],
        _ report: ProblemReport
    ) {
        for (index, one) in found.enumerated() {
            guard let own = one.destination, own.kind == .file || own.kind == .stdout else {
                continue
            }
            let others = found.compactMap { other in
                other.destination.flatMap { $0.kind == own.kind && $0.name != own.name ? $0 : nil }
            }
            if own.kind == .file,
                let taker = others.first(where: { $0.file.takesForArchive(own.file) })
            {
                report.add(
                    one.place,
                    key: "destinations.\(one.name).path",
                    "has the form of an archive of \(taker.name), which would remove it; choose "
                        + "another path"
                )
            }
            let twin = found[..<index].first { other in
                guard let other = other.destination, other.kind == own.kind else { return false }
                return other.kind == .stdout || other.file.isSameFile(as: own.file)
            }
            guard let twin else { continue }
            report.add(one.place, key: "destinations.\(one.name)") {
                "writes to \(own.place), as \(twin.name) does; keep one of them, and route to it"
            }
        }
    }

    /// Two destinations for the same project and logstore: no request could tell them apart.
    private static func refuseTwins(_ found: [DescribedDestination], _ report: ProblemReport) {
        refuseSharedOutputs(found, report)
        for (index, one) in found.enumerated() {
            guard let project = one.project, let logstore = one.logstore else { continue }
            let twin = found[..<index].first { $0.project == project && $0.logstore == logstore }
            guard let twin else { continue }
            report.add(one.place, key: "destinations.\(one.name)") {
                "has the project and logstore of \(twin.name), so nothing would ever reach it"
            }
        }
    }
}
