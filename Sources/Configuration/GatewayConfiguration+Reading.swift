import Net
import System

extension GatewayConfiguration {
    private static let defaultListen = ListenAddress.everywhere(port: 8080)
    /// To try things out nobody else needs to reach the gateway.
    private static let sandboxedListen = ListenAddress(host: "127.0.0.1", port: 8080)
    private static let listenSource = Override(option: "--listen", variable: "SLUICE_LISTEN")
    package static let dataDirectorySource = Override(
        option: "--data-dir",
        variable: "SLUICE_DATA_DIR"
    )
    private static let defaultDataDirectory = "/var/lib/sluice"
    private static let sandboxedDataDirectory = "sluice-data"
    /// Where a gateway keeps its data that was told nothing.
    package static let usualDataDirectories = [defaultDataDirectory, sandboxedDataDirectory]
    package static var usualDataDirectory: String { defaultDataDirectory }

    /// Reads and checks everything, and throws everything that is wrong.
    package static func read(
        _ inputs: ConfigurationInputs
    ) throws(ConfigurationProblems) -> GatewayConfiguration {
        let report = ProblemReport(inputs)
        let document = document(report)
        // A file that is no YAML says nothing about the settings in it; options and variables can be judged alone.
        guard report.problems.isEmpty else {
            let rest = ProblemReport(inputs)
            _ = read(Section(nil, path: "", report: rest))
            report.add(ofInputs: rest)
            throw report.sorted
        }
        let configuration = read(Section(document, path: "", report: report))
        guard report.problems.isEmpty, let configuration else { throw report.sorted }
        return configuration
    }

    package static func document(_ report: ProblemReport) -> YAMLNode? {
        guard let path = report.inputs.path else { return nil }
        do {
            let content =
                if let kept = report.inputs.content { kept } else {
                    try fileContent(path, bytesMax: YAMLLimits().bytes)
                }
            return try YAMLDocument.read(content)
        } catch let error as YAMLError {
            report.add(line: error.line, key: "", error.reason)
        } catch let error as FileProblem {
            report.add(.whole, "the configuration file \(path) cannot be read: \(error.reason)")
        } catch {}
        return nil
    }

    private static func read(_ file: consuming Section) -> GatewayConfiguration? {
        let report = file.report
        let listen = file.value("listen", .listenAddress, listenSource)
        let listenOrigin = file.origin(of: "listen", listenSource)
        let adminSection = file.section("admin")
        let adminOrigin = adminSection.origin(of: "listen", AdminSettings.listenSource)
        let adminListen: ListenAddress? = adminSection.readable(
            "listen",
            .listenAddress,
            AdminSettings.listenSource
        )
        let admin = AdminSettings.read(adminSection)
        let devicesListen =
            listen ?? (report.inputs.isSandboxed ? sandboxedListen : defaultListen)
        let tlsSection = file.section("tls")
        // Also those of a group that has mistakes.
        let clientsHaveNames = tlsSection.has("client_ca")
        let tls = DeviceTLS.read(
            tlsSection,
            // An address that is wrong takes no port; its default is not meant.
            besides: [
                ("listen", listen ?? (listenOrigin == nil ? devicesListen : nil)),
                ("admin.listen", adminListen ?? (adminOrigin == nil ? admin.listen : nil)),
            ]
        )
        if listenOrigin == nil || listen != nil, adminOrigin == nil || adminListen != nil {
            refuseSharedPort(
                (devicesListen, listenOrigin),
                (admin.listen, adminOrigin),
                report
            )
        }
        let written = file.value("data_dir", .path)
        let dataDirectory = file.overriding(dataDirectorySource, .path) ?? written
        let queue = QueueSettings.read(file.section("queue"))
        let described = file.section("destinations")
        // Also those that are described wrongly.
        let names = described.names
        let destinations = Destination.readAll(described, queue: queue)
        let devices = DeviceSettings.read(
            file.section("devices"),
            destinations: Set(names + destinations.map(\.name)),
            clientsHaveNames: clientsHaveNames
        )
        let credentials = readCredentials(file.section("credentials"), usedBy: destinations)
        let webhook = WebhookSettings.read(file.section("webhook"))
        let log = LogSettings.read(file.section("log"))
        let limits = LimitSettings.read(file.section("limits"))
        let drain = file.value("drain_timeout", .duration(.zero ... .seconds(3600)))
        file.refuseOthers()

        let complete = destinations.compactMap(\.destination)
        guard !complete.isEmpty else { return nil }
        var configuration = GatewayConfiguration(
            listen: devicesListen,
            tls: tls,
            admin: admin,
            dataDirectory: dataDirectory
                ?? (report.inputs.isSandboxed ? sandboxedDataDirectory : defaultDataDirectory),
            queue: queue,
            devices: devices,
            destinations: complete,
            credentials: credentials.sources,
            encryptionKey: credentials.encryptionKey,
            environment: HiddenEnvironment(report.inputs.environment),
            log: log,
            limits: limits
        )
        configuration.webhook = webhook
        if case .environment = report.inputs.override(dataDirectorySource)?.place,
            written != dataDirectory
        {
            configuration.overruledDirectory = written
        }
        if let drain { configuration.drainTimeout = drain }
        return configuration
    }

    /// An address and where it was given; nil is its default.
    private typealias GivenAddress = (ListenAddress, ConfigurationProblem.Place?)

    private static func refuseSharedPort(
        _ devices: GivenAddress,
        _ operators: GivenAddress,
        _ report: ProblemReport
    ) {
        guard devices.0.excludes(operators.0) else { return }
        if let place = devices.1 {
            report.add(place, key: "listen", devices.0.takesPort(of: "admin.listen", operators.0))
        } else {
            report.add(
                operators.1 ?? .whole,
                key: "admin.listen",
                operators.0.takesPort(of: "listen", devices.0)
            )
        }
    }
}
