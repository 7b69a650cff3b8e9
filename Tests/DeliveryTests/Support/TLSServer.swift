import System
import Testing

/// `openssl s_server` with a certificate that nobody knows: it prints what it gets and sends what it
/// is told.
struct TLSServer {
    let process: ChildProcess
    let port: Int
    /// The file of the certificate, which is its own authority.
    let certificate: String

    private let directory: TemporaryDirectory

    /// With a certificate for the project's host.
    init(for host: String) throws {
        try self.init(named: "demo-project.\(host)")
    }

    init(named name: String) throws {
        let directory = try TemporaryDirectory()
        self.directory = directory
        certificate = "\(directory.path)/certificate.pem"
        let status = try ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:\(name)",
            "-keyout", "\(directory.path)/key.pem", "-out", certificate,
        ]).wait()
        try #require(status == 0, "openssl makes a certificate")
        process = try ChildProcess([
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2",
            "-key", "\(directory.path)/key.pem", "-cert", certificate,
        ])
        let said = try #require(process.read(until: "ACCEPT 127.0.0.1:"))
        let port = said.split(separator: "ACCEPT 127.0.0.1:").last
            .flatMap { Int($0.prefix(while: \.isNumber)) }
        self.port = try #require(port)
    }

    func stop() {
        process.stop()
        directory.remove()
    }
}
