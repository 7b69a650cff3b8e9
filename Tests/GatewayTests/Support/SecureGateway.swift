import Configuration
import Glibc
import Net
import System
import TestConfiguration
import TestGateway
import TestSupport

@testable import Admin
@testable import Gateway
@testable import Operations

/// A gateway whose admin listener speaks TLS, with certificates in a directory of its own and a
/// journal to read.
final class SecureGateway {
    static let made = TestCertificates.shared

    let directory = TemporaryDirectory()
    private let recorder = JournalRecorder(level: .info)
    private let sandbox: SandboxPartner
    let gateway: Gateway

    /// `name` is whose certificate the listener shows.
    init(
        _ name: String = "server",
        clients: TLSSettings.ClientCertificates = .none,
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws {
        sandbox = try SandboxPartner(.silent)
        let files = TLSSettings.Certificate(
            chainFile: directory.path + "/current/tls.crt",
            keyFile: directory.path + "/current/tls.key"
        )
        Self.install(name, in: directory)
        gateway = try SandboxedGateway.gateway(sandbox, directory, journal: recorder.journal) {
            $0.admin.tls = TLSSettings(certificates: [files], clientCertificates: clients)
            change(&$0)
        }
    }

    deinit {
        gateway.stop(within: .zero)
        sandbox.stop()
    }

    var welcome: String { sandbox.welcome(gateway, hasIssuedKey: true) }
    var watch: CertificateWatch { gateway.certificates.watches[0] }

    func admin(_ certificate: String? = nil, for name: String? = nil) -> TestClient {
        var client = TestClient(address: gateway.adminAddress)
        client.tls = ClientTLS.Options(serverName: name, certificate: certificate)
        return client
    }

    func get(
        _ path: String,
        _ certificate: String? = nil,
        token: String = SandboxedGateway.token
    ) throws -> TestAnswer {
        try admin(certificate).get(path, ["authorization": "Bearer \(token)"])
    }

    /// Puts another pair in place as secrets of Kubernetes are: what was a link to one directory
    /// leads to the next.
    func install(_ name: String, key: String? = nil) {
        Self.install(name, key: key, in: directory)
    }

    private static func install(
        _ name: String,
        key: String? = nil,
        in directory: TemporaryDirectory
    ) {
        let next = "\(directory.path)/\(name)-\(Moment.now.nanoseconds)"
        mkdir(next, 0o700)
        symlink(made.certificate(name), next + "/tls.crt")
        symlink(made.key(key ?? name), next + "/tls.key")
        symlink(next, next + ".link")
        rename(next + ".link", directory.path + "/current")
    }

    func saying(_ part: String) -> [String] { recorder.lines(containing: part) }
}
