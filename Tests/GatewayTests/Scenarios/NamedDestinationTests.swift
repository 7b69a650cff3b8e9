import Configuration
import Delivery
import HTTP
import Net
import Queue
import Resolvers
import System
import TestGateway
import TestHTTP
import TestSupport
import Testing

@testable import Gateway
@testable import Operations

/// A gateway that finds its destinations' addresses by resolvers, over TLS to real servers.
@Suite(.timeLimit(.minutes(10))) struct NamedDestinationTests {
    private let directory = TemporaryDirectory()
    private let journal = JournalRecorder()
    private let files = TestCertificates.shared

    private func gateway(_ text: String) throws -> Gateway {
        let inputs = ConfigurationInputs(file: directory.gatewayFile(text), environment: [:])
        return try Gateway(try .read(inputs), journal: journal.journal)
    }

    /// Servers with several certificates choose by the name that a client sends.
    private func server(
        _ names: String...,
        at address: ListenAddress = ListenAddress(host: "127.0.0.1", port: 0)
    ) throws -> RecordingServer {
        let context = try TLSContext(TLSSettings(certificates: names.map(files.files)))
        return try RecordingServer(tls: context, on: address) { _, _ in Response(status: 200) }
    }

    private func output(_ host: String, _ port: UInt16, _ resolvers: String) -> String {
        """
        destinations:
          out:
            kind: http
            url: "https://\(host):\(port)/in"
            ca_file: \(files.certificate("authority"))
            resolve: [\(resolvers)]
            packet: {age: 10ms}
            retry: {first: 1s}
        """
    }

    private func post(_ gateway: Gateway) throws {
        #expect(try gateway.deviceClient.post("/logs/app", #"{"a":"1"}"#.utf8).status == 200)
    }

    private func delivery(_ gateway: Gateway) -> (address: String, resolver: String?)? {
        gateway.report.destinations.first.map { ($0.delivery.address, $0.delivery.resolver) }
    }

    @Test("Only the address changes: SNI, Host and certificate keep the name")
    func keepsName() throws {
        // Without the name the server would show the other certificate.
        let server = try server("server", "exact")
        defer { server.stop() }
        let gateway = try gateway(
            """
            resolvers: {lab: {kind: static, hosts: {api.example.com: [127.0.0.1]}}}
            \(output("api.example.com", server.port, "lab"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(server.requests[0].fields["host"] == "api.example.com:\(server.port)")
        let found = try #require(delivery(gateway))
        #expect(found.address == "127.0.0.1" && found.resolver == "lab")
    }

    @Test("A wrong certificate at the right address is refused, and tells whose address it was")
    func wrongCertificate() throws {
        let server = try server("server")
        defer { server.stop() }
        let gateway = try gateway(
            """
            resolvers: {lab: {kind: static, hosts: {api.example.com: [127.0.0.1]}}}
            \(output("api.example.com", server.port, "lab"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        let text = "(at 127.0.0.1, as the resolver lab says)"
        #expect(
            eventually {
                gateway.report.destinations[0].delivery.lastFailure?.message.contains(text) ?? false
            }
        )
        #expect(server.requests.isEmpty)
        #expect(gateway.report.queue.ledger.queued == 1)
    }

    @Test("A dead address is passed over at once, and the endpoint is not blamed")
    func deadAddress() throws {
        let server = try server("exact")
        defer { server.stop() }
        let gateway = try gateway(
            """
            resolvers: {lab: {kind: static, hosts: {api.example.com: [127.0.0.77, 127.0.0.1]}}}
            \(output("api.example.com", server.port, "lab"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(gateway.report.destinations[0].delivery.pauses.values.reduce(0, +) == 0)
    }

    @Test("Addresses of a hijacker are refused, and the next resolver's are used")
    func hijacked() throws {
        let real = try server("exact")
        defer { real.stop() }
        // The same port on another address of this machine, with another certificate.
        let place = ListenAddress(host: "127.0.0.2", port: real.port)
        let hijacker = try server("server", at: place)
        defer { hijacker.stop() }
        let gateway = try gateway(
            """
            resolvers:
              bad: {kind: static, hosts: {api.example.com: [127.0.0.2]}}
              good: {kind: static, hosts: {api.example.com: [127.0.0.1]}}
            \(output("api.example.com", real.port, "bad, good"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(hijacker.requests.isEmpty && real.requests.count == 1)
        let found = try #require(delivery(gateway))
        #expect(found.address == "127.0.0.1" && found.resolver == "good")
    }

    @Test("Logs wait while nobody knows an address, and go out within seconds when one is known")
    func returns() throws {
        let server = try server("exact")
        defer { server.stop() }
        let works = SharedValue(false)
        let resolver = try RecordingServer { _, _ in
            let answer = #"{"host":"api.example.com","ips":["127.0.0.1"],"ttl":60}"#
            return works.now
                ? Response(status: 200, body: Array(answer.utf8)) : Response(status: 500)
        }
        defer { resolver.stop() }
        let gateway = try gateway(
            """
            resolvers: {ali: {kind: alibaba, version: v1, account: "1", servers: ["\(resolver.url)"]}}
            \(output("api.example.com", server.port, "ali"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(
            eventually { gateway.report.destinations[0].delivery.lastFailure?.code == "CURLE_6" }
        )
        #expect(gateway.report.queue.ledger.queued == 1)
        works.change { $0 = true }
        let began = Moment.now
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(Moment.now - began < .seconds(5).calibrated())
    }

    @Test("Behind a proxy no resolver is asked")
    func proxy() throws {
        let resolver = try RecordingServer { _, _ in Response(status: 500) }
        defer { resolver.stop() }
        let gateway = try gateway(
            """
            resolvers: {doh: {kind: doh, url: "\(resolver.url)/dns-query"}}
            destinations:
              out:
                kind: http
                url: "http://api.example.com/in"
                proxy: "http://127.0.0.1:9"
                resolve: [doh]
                packet: {age: 10ms}
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(eventually { gateway.report.destinations[0].delivery.lastFailure != nil })
        #expect(resolver.requests.isEmpty && gateway.report.names.hosts.isEmpty)
    }

    @Test("A reload gives a destination other resolvers, and takes them away")
    func reload() throws {
        let server = try server("exact")
        defer { server.stop() }
        let gateway = try gateway(
            """
            resolvers: {lab: {kind: static, hosts: {api.example.com: [127.0.0.77]}}}
            \(output("api.example.com", server.port, "lab"))
            """
        )
        defer { gateway.stop(within: .zero) }
        try post(gateway)
        #expect(eventually { gateway.report.destinations[0].delivery.lastFailure != nil })
        try gateway.reload { $0.names.resolvers["lab"] = try Self.lab("127.0.0.1") }
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        #expect(journal.text.contains("resolvers"))
        gateway.reload { $0.destinations[0].transfer.transport.resolvers = [] }
        #expect(eventually { gateway.report.names.hosts.isEmpty })
    }

    private static func lab(_ address: String) throws -> ResolverSettings {
        ResolverSettings(.fixed(["api.example.com": [try #require(IPAddress(address))]]))
    }
}
