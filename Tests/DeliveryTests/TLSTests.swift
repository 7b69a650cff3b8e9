import Glibc
import SLS
import System
import Testing

@testable import Delivery

/// Against `openssl s_server` with a certificate that nobody knows.
@Suite(.timeLimit(.minutes(1))) struct TLSTests {
    /// A directory with `key.pem` and `certificate.pem` for `demo-project.{name}`.
    func certificate(for name: String) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        let status = try ChildProcess([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
            "-addext", "subjectAltName=DNS:demo-project.\(name)",
            "-keyout", "\(directory.path)/key.pem", "-out", "\(directory.path)/certificate.pem",
        ]).wait()
        try #require(status == 0, "openssl makes a certificate")
        return directory
    }

    func server(_ directory: TemporaryDirectory) throws -> (ChildProcess, port: Int) {
        let server = try ChildProcess([
            "openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_2",
            "-key", "\(directory.path)/key.pem", "-cert", "\(directory.path)/certificate.pem",
        ])
        let said = try #require(server.read(until: "ACCEPT 127.0.0.1:"))
        let port = said.split(separator: "ACCEPT 127.0.0.1:").last
            .flatMap { Int($0.prefix(while: \.isNumber)) }
        return (server, try #require(port))
    }

    func forwarder(
        _ source: MemorySource,
        port: Int,
        trusting file: String?
    ) throws -> Forwarder {
        var settings = try Samples.destination(port: port)
        settings.endpoint = try Endpoint(parsing: "https://localhost:\(port)")
        settings.certificateAuthorities = file
        let forwarder = try Forwarder(
            [settings],
            source: source,
            credentials: { _ in Samples.credential },
            journal: .silent
        )
        try forwarder.start()
        return forwarder
    }

    @Test("A certificate of an authority that was named is accepted")
    func trusted() throws {
        let directory = try certificate(for: "localhost")
        defer { directory.remove() }
        let (server, port) = try server(directory)
        defer { server.stop() }
        let source = try MemorySource()
        let forwarder = try forwarder(
            source,
            port: port,
            trusting: "\(directory.path)/certificate.pem"
        )
        source.offer(1)
        #expect(server.read(until: "POST /logstores/app-log/shards/lb") != nil)
        server.write(
            "HTTP/1.1 200 OK\r\nx-log-requestid: 5642FC2399248C8F7B0145FD\r\n"
                + "Content-Length: 0\r\n\r\n"
        )
        #expect(source.state.wait { $0.acknowledged == [1] })
        forwarder.stop(within: .seconds(5))
    }

    @Test(
        "A certificate that is unknown, or is another's, ends the connection before anything is sent",
        arguments: [
            ("localhost", false, "CURLE_60"), ("elsewhere", true, "CURLE_60"),
            ("localhost", nil, "CURLE_77"),
        ]
    )
    func refused(name: String, isTrusted: Bool?, code: String) throws {
        let directory = try certificate(for: name)
        defer { directory.remove() }
        let (server, port) = try server(directory)
        defer { server.stop() }
        let source = try MemorySource()
        let file = isTrusted.map { $0 ? "\(directory.path)/certificate.pem" : nil } ?? "/nowhere"
        let forwarder = try forwarder(source, port: port, trusting: file)
        source.offer(1)
        let end = Moment.now + .seconds(20)
        while forwarder.status[0].lastFailure == nil, Moment.now < end { usleep(10_000) }
        let failure = forwarder.status[0].lastFailure
        forwarder.stop(within: .zero)
        #expect(failure?.kind == .network)
        #expect(failure?.code == code)
        #expect(source.state.now.acknowledged.isEmpty)
    }
}
