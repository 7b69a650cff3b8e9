import Configuration
import Crypto
import SLS
import System
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPClient

/// Against `openssl s_server` with a certificate that nobody knows.
@Suite(.timeLimit(.minutes(10))) struct TLSTests {
    private let source = MemorySource()

    func forwarder(
        _ source: MemorySource,
        port: Int,
        trusting file: String?
    ) throws -> Forwarder {
        var settings = try Samples.destination(port: port)
        settings.endpoints = [try Endpoint(parsing: "https://localhost:\(port)")]
        settings.transfer.transport.certificateAuthorities = file
        return try Forwarder.started([settings], source: source)
    }

    @Test("A certificate of an authority that was named is accepted")
    func trusted() throws {
        let tls = try TLSServer(for: "localhost")
        defer { tls.stop() }
        let (said, told) = (tls.output, tls.input)
        let forwarder = try forwarder(
            source,
            port: tls.port,
            trusting: tls.certificate
        )
        source.offer(1)
        #expect(said.read(until: "POST /logstores/app-log/shards/lb") != nil)
        told.write(
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
        let tls = try TLSServer(for: name)
        defer { tls.stop() }
        let file = isTrusted.map { $0 ? tls.certificate : nil } ?? "/nowhere"
        let forwarder = try forwarder(source, port: tls.port, trusting: file)
        source.offer(1)
        #expect(eventually { forwarder.status[0].lastFailure != nil })
        let failure = forwarder.status[0].lastFailure
        forwarder.stop(within: .zero)
        #expect(failure?.kind == .network)
        #expect(failure?.code == code)
        #expect(source.state.now.acknowledged.isEmpty)
    }

    // MARK: - A server that demands a certificate

    private func sender(
        _ source: MemorySource,
        to tls: TLSServer,
        showing name: String?
    ) throws -> Forwarder {
        let place = "https://localhost:\(tls.port)"
        var settings = Destination(name: "app", kind: .http)
        settings.http = try Samples.httpTarget("\(place)/in", at: place)
        settings.transfer.transport.certificateAuthorities = tls.certificate
        let files = TestCertificates.shared
        settings.http.certificateFile = name.map(files.certificate)
        settings.http.keyFile = name.map(files.key)
        return try Forwarder.started([settings], source: source, credentials: { _ in nil })
    }

    @Test("A server that demands a certificate of its authority gets the configured one")
    func clientCertificate() throws {
        let tls = try TLSServer(demanding: "authority", of: .shared)
        defer { tls.stop() }
        let forwarder = try sender(source, to: tls, showing: "client")
        source.offer(1)
        #expect(tls.output.read(until: "POST /in") != nil)
        tls.input.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        #expect(source.state.wait { $0.acknowledged == [1] })
        forwarder.stop(within: .seconds(5))
    }

    @Test(
        "Without a certificate, or with another authority's, nothing is sent and the logs stay",
        arguments: [nil, "wrong-client"]
    )
    func refusedClient(name: String?) throws {
        let tls = try TLSServer(demanding: "authority", of: .shared)
        defer { tls.stop() }
        let forwarder = try sender(source, to: tls, showing: name)
        source.offer(1)
        #expect(eventually { forwarder.status[0].lastFailure != nil })
        let failure = forwarder.status[0].lastFailure
        forwarder.stop(within: .zero)
        #expect(failure?.kind == .network)
        #expect(failure?.code?.hasPrefix("CURLE_") == true)
        #expect(source.state.now.acknowledged.isEmpty)
    }
}
