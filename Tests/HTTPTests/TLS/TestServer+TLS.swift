import COpenSSL
import TestSupport

@testable import HTTP
@testable import Net

extension ClientTLS {
    var serverNames: [String] {
        SSL_get0_peer_certificate(tls).map { certificateNames($0).map(\.text) } ?? []
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

    func secureClient(_ options: ClientTLS.Options = ClientTLS.Options()) throws -> TestConnection {
        let client = try client()
        try client.secure(options)
        return client
    }
}
