import Glibc
package import Net
import Queue
import Routing
import System

extension GatewayConfiguration {
    /// Reads and checks everything, and throws everything that is wrong.
    package static func read(
        _ inputs: ConfigurationInputs
    ) throws(ConfigurationProblems) -> GatewayConfiguration {
        let report = ProblemReport(inputs)
        let document = report.document()
        // Without valid YAML only options and variables can be judged.
        guard report.problems.isEmpty else {
            let rest = ProblemReport(inputs)
            _ = read(Section(nil, path: "", report: rest))
            report.add(ofInputs: rest)
            throw report.sorted
        }
        var configuration = read(Section(document, path: "", report: report))
        configuration?.origins = SettingOrigins(document, inputs)
        guard report.problems.isEmpty, let configuration else { throw report.sorted }
        return configuration
    }

    private static func read(_ file: consuming Section) -> GatewayConfiguration? {
        let report = file.report
        // Also those that are described wrongly.
        let names = file.inner("destinations").names
        report.destinationNames = Set(names.isEmpty ? ["default"] : names)
        report.resolverNames = Set(file.inner("resolvers").names)
        report.clientsHaveNames = file.inner("tls").has("client_ca")
        report.filtersHeaders = file.readableItems("filters_headers", .headerName)
        report.filtersHaveSecret =
            file.origin(of: "filters_secret", RoutingRules.secretSource) != nil
        var configuration = GatewayConfiguration()
        if report.inputs.isSandboxed {
            // A trial with a sandbox needs no access from other machines.
            configuration.listen = ListenAddress(host: "127.0.0.1", port: 8080)
            configuration.dataDirectory = sandboxedDataDirectory
        }
        configuration.readSettings(&file)
        configuration.refuseSharedPorts(file)
        configuration.checkRouting(file)
        if case .environment = report.inputs.override(dataDirectorySource)?.place {
            let written = file.readable("data_dir", .path)
            if written != configuration.dataDirectory { configuration.overruledDirectory = written }
        }
        let described = DescribedDestination.readAll(
            file.section("destinations"),
            queue: configuration.queue,
            guarded: configuration.guardedFiles(file)
        )
        let credentials = CredentialsGroup.read(file.section("credentials"), usedBy: described)
        file.refuseOthers()
        configuration.destinations = described.compactMap(\.destination)
        configuration.boundOptionalDestinations()
        configuration.credentials = credentials.sources
        configuration.encryptionKey = credentials.encryptionKey
        configuration.environment = HiddenEnvironment(report.inputs.environment)
        return configuration.destinations.isEmpty ? nil : configuration
    }

    /// Variables that name a file or have a setting's value. Others, as `LOG_FILE`, may name an
    /// output.
    private static let guardedVariables = [
        "SLUICE_ADMIN_CA", "SLUICE_ADMIN_CERT", "SLUICE_ADMIN_KEY", "SLUICE_ADMIN_TOKEN",
        "SLUICE_ADMIN_TOKEN_FILE", "SLUICE_FILTERS_SECRET", "ALIBABA_CLOUD_CONFIG_FILE",
        "ALIBABA_CLOUD_CREDENTIALS_FILE", "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    ]

    /// Files that destinations must not write to: those in the data directory, and all that another
    /// setting, an option or a variable of a setting names.
    private func guardedFiles(_ file: borrowing Section) -> GuardedFiles {
        let inputs = file.report.inputs
        var guarded = GuardedFiles()
        guarded.directory = dataDirectory
        var texts = [inputs.path].compactMap(\.self) + inputs.options.values
        texts += Self.guardedVariables.compactMap { inputs.variable($0) }
        for entry in file.entries.values {
            guard entry.key == "destinations", case .mapping(let all) = entry.value.content else {
                texts += entry.value.texts
                continue
            }
            for case .mapping(let settings) in all.map(\.value.content) {
                texts += settings.filter { $0.key != "path" }.flatMap(\.value.texts)
            }
        }
        for text in texts {
            let files = text.split(separator: "${file:", omittingEmptySubsequences: false)
                .dropFirst()
            guarded.paths.formUnion(files.map { String($0.prefix { $0 != "}" }) })
            let path = files.isEmpty ? try? file.report.substitution.apply(to: text) : nil
            // Other texts may be secrets and are not kept.
            if let path, access(path, F_OK) == 0 { guarded.paths.insert(path) }
        }
        return guarded
    }

    /// Bounds optional destinations, which could otherwise fill the queue for required ones.
    private mutating func boundOptionalDestinations() {
        let unbound = destinations.indices.filter {
            !destinations[$0].isRequired && destinations[$0].backlog.bytesMax == nil
        }
        guard !unbound.isEmpty else { return }
        let share = max(queue.bytesMax / 2 / unbound.count, QueueSettings.bytesLeast)
        for index in unbound { destinations[index].backlog.bytesMax = share }
    }

    /// An address to listen on, and where it was given; nil is its default.
    private struct GivenAddress {
        let key: String
        let address: ListenAddress
        let place: ConfigurationProblem.Place?

        /// nil: the given address is wrong, so it takes no port, and neither does the default.
        init?(_ section: borrowing Section, _ source: Override, default usual: ListenAddress) {
            key = section.keyPath("listen")
            place = section.origin(of: "listen", source)
            let written: ListenAddress? = section.readable("listen", .listenAddress, source)
            guard let address = written ?? (place == nil ? usual : nil) else { return nil }
            self.address = address
        }
    }

    /// Two listeners on one port: the kernel would refuse the second.
    private func refuseSharedPorts(_ file: borrowing Section) {
        let report = file.report
        let devices = GivenAddress(file, Self.listenSource, default: listen)
        let operators = GivenAddress(
            file.inner("admin"),
            AdminSettings.listenSource,
            default: admin.listen
        )
        if let devices, let operators, devices.address.excludes(operators.address) {
            // The default is the one that is not told.
            let (one, other) = devices.place == nil ? (operators, devices) : (devices, operators)
            report.add(
                one.place ?? .whole,
                key: one.key,
                one.address.takesPort(of: other.key, other.address)
            )
        }
        let tls = file.inner("tls")
        let usual = DeviceTLSEntry.defaultListen(isSandboxed: report.inputs.isSandboxed)
        guard tls.isInFile, let secure = GivenAddress(tls, .none, default: usual) else { return }
        for other in [devices, operators].compactMap(\.self)
        where secure.address.excludes(other.address) {
            report.add(
                tls.place(of: "listen"),
                key: secure.key,
                secure.address.takesPort(of: other.key, other.address)
            )
        }
    }
}

/// Reads the configuration with decided settings, from the file's present or its last content.
package typealias ConfigurationReading =
    @Sendable (
        _ decided: [String: DecidedSettings], _ rereadsFile: Bool
    ) throws(ConfigurationProblems) -> GatewayConfiguration

/// Reads the configuration for each change at run time. It rereads the file only on SIGHUP, so an
/// edit in progress has no effect.
package struct ConfigurationReader: Sendable {
    private let inputs: ConfigurationInputs
    private let content = Locked<[UInt8]?>(nil)

    package init(_ inputs: ConfigurationInputs) {
        self.inputs = inputs
    }

    package func read(
        _ decided: [String: DecidedSettings],
        rereadsFile: Bool
    ) throws(ConfigurationProblems) -> GatewayConfiguration {
        var inputs = inputs
        inputs.decided = decided
        inputs.readsCertificates = rereadsFile
        let former = content.withLock { $0 }
        inputs.content = rereadsFile ? nil : former
        inputs.waitsForFile = former == nil
        if inputs.content == nil, let path = inputs.path {
            // A file that cannot be read tells so when the configuration is read from it.
            inputs.content = try? fileContent(
                path,
                bytesMax: YAMLLimits().bytes,
                waits: inputs.waitsForFile
            )
        }
        let read = try GatewayConfiguration.read(inputs)
        let used = inputs.content
        content.withLock { $0 = used }
        return read
    }
}

extension YAMLNode {
    fileprivate var texts: [String] {
        switch content {
        case .scalar(let text, _): [text]
        case .mapping(let members): members.flatMap(\.value.texts)
        case .sequence(let items): items.flatMap(\.texts)
        }
    }
}

extension ListenAddress {
    /// True for an address that other machines cannot reach.
    var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    /// True if both cannot be bound: they share a port, and a host or a wildcard.
    func excludes(_ other: ListenAddress) -> Bool {
        guard port != 0, port == other.port else { return false }
        return host == other.host || isWildcard || other.isWildcard
    }

    /// What to say when it does.
    func takesPort(of otherKey: String, _ other: ListenAddress) -> String {
        "\(self) takes the port of \(otherKey) (\(other)); give one of them another"
    }

    private var isWildcard: Bool { host == "0.0.0.0" || host == "::" }

    /// The address by which a client on this machine reaches the listener.
    package var reachable: ListenAddress {
        // The kernel decides the family of a socket for all addresses; IPv4 always reaches it.
        if isEverywhere { return ListenAddress(host: "127.0.0.1", port: port) }
        return switch host {
        case "0.0.0.0": ListenAddress(host: "127.0.0.1", port: port)
        case "::": ListenAddress(host: "::1", port: port)
        default: self
        }
    }
}
