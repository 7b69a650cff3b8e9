import COpenSSL
import Glibc
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

    func secureClient(
        _ options: ClientTLS.Options = ClientTLS.Options(),
        sending text: String = ""
    ) throws -> TestConnection {
        let client = try client()
        try client.secure(options)
        client.send(text)
        return client
    }

    /// A client that has had an answer; nil when the server does not let it in. A client of TLS 1.3
    /// has done its part before the server has looked at its certificate.
    func visit(
        _ options: ClientTLS.Options
    ) throws -> (client: TestConnection, tls: ClientTLS, name: String)? {
        let client = try client()
        guard let tls = try? client.secure(options) else { return nil }
        client.send(get("/name"))
        guard let answer = client.answer(), answer.status == 200 else { return nil }
        return (client, tls, answer.text)
    }
}

extension ClientTLS {
    /// What the calls in `body` would send, as it goes over the wire.
    func records(_ descriptor: CInt, bytesMax: Int, _ body: () -> Void) -> [UInt8] {
        SSL_set0_wbio(tls, BIO_new(BIO_s_mem()))
        let written = SSL_get_wbio(tls)
        body()
        var bytes = [UInt8](repeating: 0, count: bytesMax)
        let count = BIO_read(written, &bytes, CInt(bytes.count))
        SSL_set0_wbio(tls, BIO_new_socket(descriptor, BIO_NOCLOSE))
        return Array(bytes.prefix(Int(max(0, count))))
    }
}

/// Certificates of clients beyond the usual ones.
extension TestCertificates {
    /// With these extensions ("extendedKeyUsage=serverAuth"), in a pair of files of this name.
    func issue(
        _ name: String,
        subject: String = "/CN=x",
        by authority: String = "authority",
        key kind: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"],
        extensions: [String] = []
    ) {
        openssl(
            ["req", "-x509", "-newkey"] + kind + [
                "-nodes", "-utf8", "-days", "2", "-subj", subject, "-keyout", key(name), "-out",
                certificate(name), "-CA", certificate(authority), "-CAkey", key(authority),
            ] + extensions.flatMap { ["-addext", $0] }
        )
    }

    /// Has it end so many seconds from now; the command knows days only.
    func end(_ name: String, in seconds: Int, by authority: String = "authority") {
        let file = BIO_new_file(certificate(name), "r")
        let whole = PEM_read_bio_X509(file, nil, nil, nil)
        BIO_free(file)
        let keyFile = BIO_new_file(key(authority), "r")
        let signer = PEM_read_bio_PrivateKey(keyFile, nil, nil, nil)
        BIO_free(keyFile)
        X509_gmtime_adj(X509_getm_notBefore(whole), -3600)
        X509_gmtime_adj(X509_getm_notAfter(whole), seconds)
        X509_sign(whole, signer, EVP_sha256())
        let written = BIO_new_file(certificate(name), "w")
        PEM_write_bio_X509(written, whole)
        BIO_free(written)
        EVP_PKEY_free(signer)
        X509_free(whole)
    }

    func content(_ path: String) -> String {
        guard let file = fopen(path, "r") else { return "" }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
