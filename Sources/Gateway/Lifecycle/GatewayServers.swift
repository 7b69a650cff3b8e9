import Configuration
import HTTP
import Ingest
import Net
import Operations
import System

/// The HTTP servers of the gateway.
struct GatewayServers: Sendable {
    let devices: HTTPServer
    /// nil: devices have no TLS listener.
    let secureDevices: HTTPServer?
    let admin: HTTPServer

    /// The device listeners: plain HTTP and, with certificates, TLS. Both use the same handlers, and share the limits
    /// of connections and bodies.
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

    static func certificates(
        _ settings: TLSSettings?,
        of listener: String,
        _ journal: Journal
    ) throws(TLSError) -> CertificateWatch? {
        guard let settings else { return nil }
        return try CertificateWatch(settings, of: listener, journal: journal)
    }
}
