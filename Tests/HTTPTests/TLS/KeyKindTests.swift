import COpenSSL
import Net
import System
import TestSupport
import Testing

@testable import HTTP

/// Several certificates for one name.
@Suite(.timeLimit(.minutes(1)))
struct KeyKindTests {
    static let files = TestCertificates.shared

    private func pair(_ name: String, rsa: Bool) -> TLSSettings.Certificate {
        let key = rsa ? ["rsa:2048"] : ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        Self.files.openssl(
            ["req", "-x509", "-newkey"] + key + [
                "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-keyout", Self.files.key(name),
                "-out", Self.files.certificate(name), "-CA", Self.files.certificate("authority"),
                "-CAkey", Self.files.key("authority"), "-addext",
                "subjectAltName=DNS:kinds.example.com",
            ]
        )
        return Self.files.files(name)
    }

    /// The kind of key that a client is shown which can use one kind only.
    private func shown(_ server: TestServer, ciphers: String) throws -> CInt? {
        let client = try server.client()
        let options = ClientTLS.Options(serverName: "kinds.example.com.", version: TLS1_2_VERSION)
        let tls = ClientTLS(options, descriptor: client.descriptor)
        SSL_set_cipher_list(tls.tls, ciphers)
        guard tls.connect(), let certificate = SSL_get0_peer_certificate(tls.tls) else {
            return nil
        }
        return EVP_PKEY_get_base_id(X509_get0_pubkey(certificate))
    }

    @Test("A name may have one certificate for each kind of key; a second one is a warning")
    func kinds() throws {
        let settings = TLSSettings(
            certificates: [
                Self.files.files("server"), pair("kind-ec", rsa: false),
                pair("kind-rsa", rsa: true),
                pair("kind-again", rsa: true),
            ]
        )
        let context = try TLSContext(settings)
        #expect(context.certificates.count == 4)
        let server = try TestServer(tls: context)
        #expect(try shown(server, ciphers: "ECDHE+aECDSA") == EVP_PKEY_EC)
        #expect(try shown(server, ciphers: "ECDHE+aRSA") == EVP_PKEY_RSA)
        let warnings = context.warnings(at: .now)
        #expect(warnings.count == 1)
        #expect(warnings.first?.contains(Self.files.certificate("kind-again")) == true)
        #expect(warnings.first?.contains(Self.files.certificate("kind-rsa")) == true)
    }
}
