import TestSupport
import Testing

/// `openssl s_server` with a certificate that nobody knows: it prints what it gets and sends what
/// it is told.
struct TLSServer {
    /// What it prints, and what it is told to send.
    let output, input: PipeEnd
    let port: Int
    /// The file of the certificate, which is its own authority.
    let certificate: String

    private let process: ChildProcess
    private let directory: TemporaryDirectory

    /// With a certificate for the project's host.
    init(for host: String) throws {
        try self.init(named: "demo-project.\(host)")
    }

    init(named name: String) throws {
        let directory = TemporaryDirectory()
        self.directory = directory
        certificate = "\(directory.path)/certificate.pem"
        let key = "\(directory.path)/key.pem"
        let status = try ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:\(name)",
            "-keyout", key, "-out", certificate,
        ]).wait()
        try #require(status == 0, "openssl makes a certificate")
        process = try Self.start(certificate, key)
        output = try #require(process.output)
        input = try #require(process.input)
        port = try #require(output.port(after: "ACCEPT 127.0.0.1:"))
    }

    /// For localhost. It takes only clients with a certificate of the authority.
    init(demanding authority: String, of files: TestCertificates) throws {
        directory = TemporaryDirectory()
        certificate = files.certificate("authority")
        process = try Self.start(
            files.certificate("server"),
            files.key("server"),
            ["-Verify", "1", "-verify_return_error", "-CAfile", files.certificate(authority)]
        )
        output = try #require(process.output)
        input = try #require(process.input)
        port = try #require(output.port(after: "ACCEPT 127.0.0.1:"))
    }

    private static func start(_ certificate: String, _ key: String, _ more: [String] = []) throws
        -> ChildProcess
    {
        try ChildProcess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-key", key, "-cert",
                certificate,
            ] + more,
            input: .pipe,
            output: .pipe
        )
    }

    func stop() {
        process.stop()
        directory.remove()
    }
}
