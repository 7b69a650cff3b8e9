import Admin
import Configuration
import HTTP
import Ingest
import Net
import Operations
import System

/// The HTTP servers of the gateway.
struct GatewayServers: Sendable {
    /// The certificates of listeners that speak TLS.
    struct Certificates {
        let admin: CertificateWatch?
        let devices: CertificateWatch?

        init(_ configuration: GatewayConfiguration, _ journal: Journal) throws(TLSError) {
            admin = try Self.watch(configuration.admin.tls, of: "admin", journal)
            devices = try Self.watch(configuration.tls?.settings, of: DeviceTLS.listener, journal)
        }

        private static func watch(
            _ settings: TLSSettings?,
            of listener: String,
            _ journal: Journal
        ) throws(TLSError) -> CertificateWatch? {
            guard let settings else { return nil }
            return try CertificateWatch(settings, of: listener, journal: journal)
        }

        var all: [CertificateWatch] { [admin, devices].compactMap(\.self) }
    }

    let admin: HTTPServer
    let devices: HTTPServer
    /// nil: devices have no TLS listener.
    let secureDevices: HTTPServer?

    /// Starts the admin listener, then the device listeners.
    init(
        _ configuration: GatewayConfiguration,
        _ operators: AdminHandler.Shared,
        _ shared: DeviceHandler.Shared,
        _ certificates: Certificates,
        _ journal: Journal
    ) throws(ListenError) {
        admin = try Self.forOperators(configuration, certificates.admin, journal) {
            AdminHandler(operators)
        }
        ClusterResponder(operators).begin()
        (devices, secureDevices) = try Self.forDevices(
            configuration,
            shared,
            certificates.devices,
            journal
        )
    }

    func add(to reporter: Reporter, _ certificates: Certificates) {
        reporter.add(devices, as: "devices")
        if let secureDevices {
            reporter.add(secureDevices, as: DeviceTLS.listener, certificates.devices)
        }
        reporter.add(admin, as: "admin", certificates.admin)
    }

    static func forOperators(
        _ configuration: GatewayConfiguration,
        _ certificates: CertificateWatch?,
        _ journal: Journal,
        makeHandler: @escaping @Sendable () -> any RequestHandler
    ) throws(ListenError) -> HTTPServer {
        var settings = HTTPServer.Configuration(
            listen: configuration.admin.listen,
            name: "admin",
            loops: 1,
            tls: certificates?.context,
            journal: journal
        )
        settings.limits.connections = 256
        // Strangers must not lock out health checks and operators.
        settings.limits.connectionsPerAddress = 64
        settings.limits.idleTime = .seconds(10)
        // Large answers, metrics and dead letters, go to holders of a token only.
        settings.limits.answerBytes = 64 << 20
        settings.limits.unsentAnswerBytes = 128 << 20
        return try HTTPServer(settings, makeHandler: makeHandler)
    }

    /// Plain HTTP and, with certificates, TLS, with the same handlers and shared limits.
    static func forDevices(
        _ configuration: GatewayConfiguration,
        _ shared: DeviceHandler.Shared,
        _ certificates: CertificateWatch?,
        _ journal: Journal
    ) throws(ListenError) -> (plain: HTTPServer, secure: HTTPServer?) {
        let limits = configuration.limits.http
        var settings = HTTPServer.Configuration(
            listen: configuration.listen,
            limits: limits,
            journal: journal
        )
        settings.largeRequestThreads = settings.loops
        settings.nice = configuration.limits.deviceNice
        settings.proxies = shared.door.proxies
        guard let tls = configuration.tls, let certificates else {
            return (try HTTPServer(settings) { DeviceHandler(shared) }, nil)
        }
        settings.common = HTTPServer.CommonLimits(limits, journal)
        let plain = try HTTPServer(settings) { DeviceHandler(shared) }
        settings.listen = tls.listen
        settings.name = DeviceTLS.listener
        settings.tls = certificates.context
        return (plain, try HTTPServer(settings) { DeviceHandler(shared) })
    }
}
