import TestSupport
import Testing

/// `openssl s_server` with a certificate that nobody knows.
final class TLSStandIn {
    let port: Int
    private let directory: TemporaryDirectory
    private let process: ChildProcess

    init() throws {
        directory = TemporaryDirectory()
        let key = "\(directory.path)/key"
        let certificate = "\(directory.path)/certificate"
        let status = try ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate,
        ]).wait()
        try #require(status == 0, "openssl makes a certificate")
        process = try ChildProcess(
            [
                "openssl", "s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate,
                "-www",
            ],
            output: .pipe
        )
        port = try #require(process.output?.port(after: "ACCEPT 127.0.0.1:"))
    }

    func stop() {
        process.stop()
        directory.remove()
    }
}
