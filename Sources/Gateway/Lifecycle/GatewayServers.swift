import Configuration
import HTTP
import Ingest
import Net
import Operations
import System

/// The HTTP servers of the gateway.
struct GatewayServers: Sendable {
    let admin: HTTPServer
    let devices: HTTPServer
    /// nil: devices have no TLS listener.
    let secureDevices: HTTPServer?

    /// Starts the admin listener, then the device listeners.
    init(
        _ listeners: ListenerSettings,
        _ shared: DeviceHandler.Shared,
        makeAdminHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(ListenError) {
        admin = try HTTPServer(listeners.ofOperators, makeHandler: makeAdminHandler)
        (devices, secureDevices) = try listeners.startDevices(shared)
    }

    /// A service manager keeps a socket of devices open for the next process.
    var arePassed: Bool { ofDevices.contains(where: \.isPassed) }

    var ofDevices: [HTTPServer] { [devices, secureDevices].compactMap(\.self) }

    func add(to reporter: Reporter, _ listeners: ListenerSettings) {
        reporter.add(devices, as: "devices")
        if let secureDevices {
            reporter.add(secureDevices, as: DeviceTLS.listener, listeners.deviceCertificates)
        }
        reporter.add(admin, as: "admin", listeners.adminCertificates)
    }
}

/// The configuration of listeners, with the certificates of those that speak TLS.
struct ListenerSettings {
    private let configuration: GatewayConfiguration
    private let passed: PassedListeners
    private let journal: Journal
    let adminCertificates: CertificateWatch?
    let deviceCertificates: CertificateWatch?

    init(
        _ configuration: GatewayConfiguration,
        _ passed: PassedListeners,
        _ journal: Journal
    ) throws(TLSError) {
        (self.configuration, self.passed, self.journal) = (configuration, passed, journal)
        adminCertificates = try Self.watch(configuration.admin.tls, of: "admin", journal)
        let tls = configuration.tls?.settings
        deviceCertificates = try Self.watch(tls, of: DeviceTLS.listener, journal)
    }

    private static func watch(
        _ settings: TLSSettings?,
        of listener: String,
        _ journal: Journal
    ) throws(TLSError) -> CertificateWatch? {
        guard let settings else { return nil }
        return try CertificateWatch(settings, of: listener, journal: journal)
    }

    var certificates: [CertificateWatch] {
        [adminCertificates, deviceCertificates].compactMap(\.self)
    }

    var ofOperators: HTTPServer.Configuration {
        var settings = HTTPServer.Configuration(
            listen: configuration.admin.listen,
            name: "admin",
            loops: 1,
            tls: adminCertificates?.context,
            journal: journal
        )
        settings.passed = passed.listener(on: settings.listen)
        settings.limits.connections = 256
        // Strangers must not lock out health checks and operators.
        settings.limits.connectionsPerAddress = 64
        settings.limits.idleTime = .seconds(10)
        // Large answers, metrics and dead letters, go to holders of a token only.
        settings.limits.answerBytes = 64 << 20
        settings.limits.unsentAnswerBytes = 128 << 20
        return settings
    }

    /// Plain HTTP and, with certificates, TLS, with the same handlers and shared limits.
    func startDevices(
        _ shared: DeviceHandler.Shared
    ) throws(ListenError) -> (plain: HTTPServer, secure: HTTPServer?) {
        let limits = configuration.limits.http
        var settings = HTTPServer.Configuration(
            listen: configuration.listen,
            limits: limits,
            journal: journal
        )
        settings.passed = passed.listener(on: settings.listen)
        settings.largeRequestThreads = settings.loops
        settings.nice = configuration.limits.deviceNice
        settings.proxies = shared.door.proxies
        guard let tls = configuration.tls, let deviceCertificates else {
            return (try HTTPServer(settings) { DeviceHandler(shared) }, nil)
        }
        settings.common = HTTPServer.CommonLimits(limits, journal)
        let plain = try HTTPServer(settings) { DeviceHandler(shared) }
        settings.listen = tls.listen
        settings.passed = passed.listener(on: tls.listen)
        settings.name = DeviceTLS.listener
        settings.tls = deviceCertificates.context
        return (plain, try HTTPServer(settings) { DeviceHandler(shared) })
    }
}
