import NATS
import Net
import TestNATS
import TestSupport
import Testing

/// TLS with a real server.
@Suite(.timeLimit(.minutes(10))) final class NATSTLSTests {
    let recorder = JournalRecorder()
    var broker: Broker?

    private static let files = TestCertificates.shared
    private static let trusted = OutboundTLS(authorities: files.certificate("authority"))

    private func start(_ certificate: String = "server", _ lines: String = "") throws -> Broker {
        let tls = """
            tls {
                cert_file: "\(Self.files.certificate(certificate))"
                key_file: "\(Self.files.key(certificate))"
                \(lines)
            }
            """
        let broker = try Broker.started(tls)
        self.broker = broker
        return broker
    }

    private func client(_ address: NATSServerAddress, _ tls: OutboundTLS?) throws -> NATSClient {
        let settings = NATSSettings(servers: [address], tls: tls, name: "test")
        return try NATSClient(settings, journal: recorder.journal)
    }

    private func failure(_ address: NATSServerAddress, _ tls: OutboundTLS?) throws -> NATSError? {
        let client = try client(address, tls)
        do throws(NATSError) {
            try client.waitUntilConnected(atMost: .seconds(20))
            return nil
        } catch {
            return error
        }
    }

    @Test("Megabytes go both ways through TLS, by address and by name")
    func volume() throws {
        let broker = try start()
        for host in ["127.0.0.1", "localhost"] {
            let address = NATSServerAddress(host: host, port: broker.port, wantsTLS: true)
            let client = try client(address, Self.trusted)
            try client.waitUntilConnected(atMost: .seconds(20))
            try echo(client)
        }
        #expect(recorder.count(of: "broker lost") == 0, "\(recorder.text)")
    }

    @Test("TLS is used with a server that demands it, whatever its address says")
    func demanded() throws {
        let address = try start().address
        #expect(try failure(address, Self.trusted) == nil)
        // Without settings the system's authorities count.
        let error = try failure(address, nil)
        #expect(error?.kind == .refused)
        let text = "\(address): TLS with 127.0.0.1: "
        #expect(error?.description.hasPrefix(text) == true, "\(error?.description ?? "")")
    }

    @Test("A certificate of an unknown authority is refused")
    func unknownAuthority() throws {
        let address = try start().address
        let tls = OutboundTLS(authorities: Self.files.certificate("stranger"))
        let text = "TLS with 127.0.0.1: unable to get local issuer certificate"
        #expect(try failure(address, tls) == NATSError(.refused, "\(address): \(text)"))
        let missing = OutboundTLS(authorities: "/missing.pem")
        let error = try failure(address, missing)
        #expect(error?.kind == .refused)
        #expect(error?.description.contains("/missing.pem cannot be read") == true)
    }

    @Test("A certificate for another host is refused")
    func otherHost() throws {
        let broker = try start("exact")
        let address = broker.address
        let text = "TLS with 127.0.0.1: IP address mismatch"
        #expect(try failure(address, Self.trusted) == NATSError(.refused, "\(address): \(text)"))
        let name = NATSServerAddress(host: "localhost", port: broker.port)
        let nameText = "TLS with localhost: hostname mismatch"
        #expect(try failure(name, Self.trusted) == NATSError(.refused, "\(name): \(nameText)"))
    }

    @Test("A client certificate that the server demands: given, missing, and of a stranger")
    func clientCertificate() throws {
        let ca = Self.files.certificate("authority")
        let address = try start("server", "ca_file: \"\(ca)\", verify: true").address
        var tls = Self.trusted
        let missing = try failure(address, tls)
        #expect(missing?.kind == .refused)
        let text = "\(address): TLS: tlsv13 alert certificate required"
        #expect(missing?.description == text)
        tls.certificate = Self.files.files("client")
        #expect(try failure(address, tls) == nil)
        tls.certificate = Self.files.files("wrong-client")
        let wrong = try failure(address, tls)
        #expect(wrong?.kind == .refused, "\(wrong?.description ?? "none")")
        #expect(wrong?.description.hasPrefix("\(address): TLS: ") == true)
        tls.certificate = TLSSettings.Certificate(
            chainFile: Self.files.certificate("client"),
            keyFile: Self.files.key("server")
        )
        let mixed = try failure(address, tls)
        #expect(mixed?.kind == .refused)
        #expect(mixed?.description.contains("does not belong to the first certificate") == true)
    }

    @Test("A tls:// address of a server without TLS is refused before the login")
    func withoutTLS() throws {
        let broker = try Broker.started()
        self.broker = broker
        let text = "the server has no TLS; configure its tls block"
        let address = NATSServerAddress(host: "127.0.0.1", port: broker.port, wantsTLS: true)
        #expect(try failure(address, nil) == NATSError(.refused, "\(address): \(text)"))
        // Settings of TLS demand it too.
        let plain = broker.address
        #expect(try failure(plain, Self.trusted) == NATSError(.refused, "\(plain): \(text)"))
    }

    @Test("A server that also takes clients without TLS is used with it on demand")
    func optional() throws {
        let files = Self.files.files("server")
        let broker = try Broker.started(
            """
            allow_non_tls: true
            tls { cert_file: "\(files.chainFile)", key_file: "\(files.keyFile)" }
            """
        )
        self.broker = broker
        #expect(try failure(broker.address, nil) == nil)
        #expect(try failure(broker.address, Self.trusted) == nil)
    }

    @Test("Servers that someone on the wire names before the handshake are not asked")
    func forgedServers() throws {
        let broker = try start()
        let forged = try FakeServer.saying(FakeServer.info())
        let info = FakeServer.info(
            #","tls_required":true,"connect_urls":["127.0.0.1:\#(forged.address.port)"]"#
        )
        let port = broker.port
        let between = try FakeServer { talk in
            guard let server = try? TestConnection(port: port) else { return }
            _ = server.receives("\r\n")
            talk.send(info)
            talk.relay(to: server.descriptor)
        }
        let client = try client(between.address, Self.trusted)
        try client.waitUntilConnected(atMost: .seconds(20))
        broker.kill()
        let before = between.connections.now
        #expect(between.connections.wait { $0 >= before + 3 })
        #expect(forged.connections.now == 0)
    }
}
