import COpenSSL
import TestSupport

@testable import HTTP
@testable import Net

extension ClientTLS {
    var serverNames: [String] {
        SSL_get0_peer_certificate(tls).map { certificateNames($0).map(\.text) } ?? []
    }
}

extension TestClient {
    struct NoHandshake: Error {}

    /// The handshake, from the client's side.
    @discardableResult
    func secure(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> ClientTLS {
        let tls = ClientTLS(options, descriptor: descriptor)
        guard tls.connect() else { throw NoHandshake() }
        self.tls = tls
        return tls
    }
}

extension TestServer {
    static func securely(
        _ names: [String] = ["server"],
        clients: (TLSSettings.ClientCertificates) = .none,
        loops: Int = 2,
        proxies: ProxyTrust? = nil,
        _ adjust: (inout HTTPServer.Limits) -> Void = { _ in }
    ) throws -> TestServer {
        let files = TestCertificates.shared
        let context = try TLSContext(
            TLSSettings(certificates: names.map(files.files), clientCertificates: clients)
        )
        return try TestServer(loops: loops, tls: context, proxies: proxies, adjust)
    }

    func secureClient(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> TestClient {
        let client = try client()
        try client.secure(options)
        return client
    }
}
