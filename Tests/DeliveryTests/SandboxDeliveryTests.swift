import Configuration
import Crypto
import Glibc
import Net
import SLS
import Sandbox
import System
import TestSupport
import Testing

@testable import Delivery

/// Against the sandbox, which reads signature, digests, sizes and protobuf in its own way.
@Suite(.timeLimit(.minutes(10))) struct SandboxDeliveryTests {
    private let recorder = JournalRecorder()
    private let source = MemorySource()

    /// When the samples' logs were written.
    static let time = WallTime(seconds: 1_736_843_400)
    static let plain = Credential(accessKeyID: "plainkeyid", secret: Secret("plainkeysecret"))

    struct Case: CustomTestStringConvertible, Sendable {
        let signature: SignatureVersion
        let credential: Credential
        let host: String
        let compression: Compression

        var testDescription: String {
            "\(signature) \(credential.accessKeyID) \(host) \(compression)"
        }
    }

    static let cases: [Case] = SignatureVersion.allCases.flatMap { signature in
        [plain, Samples.credential].flatMap { credential in
            ["127.0.0.1", "localhost"].flatMap { host in
                Compression.allCases.map { compression in
                    Case(
                        signature: signature,
                        credential: credential,
                        host: host,
                        compression: compression
                    )
                }
            }
        }
    }

    func sandbox() throws -> SandboxServer {
        var configuration = SandboxConfiguration(
            listen: try ListenAddress(parsing: "127.0.0.1:0"),
            keys: [Self.plain, Samples.credential]
        )
        configuration.clock = { Self.time }
        configuration.region = "cn-hangzhou"
        return try SandboxServer(configuration, journal: .silent)
    }

    func forwarder(
        _ source: MemorySource,
        _ sandbox: SandboxServer,
        _ journal: Journal = .silent,
        _ credentials: @escaping @Sendable () -> Credential? = { Self.plain },
        adjusting: (inout Destination) throws -> Void = { _ in }
    ) throws -> Forwarder {
        var settings = try Samples.destination(port: Int(sandbox.address.port))
        try adjusting(&settings)
        return try Forwarder.started(
            [settings],
            source: source,
            credentials: { _ in credentials() },
            journal: journal,
            now: { Self.time }
        )
    }

    @Test("The sandbox takes packets, however they are signed and packed", arguments: cases)
    func accepted(example: Case) throws {
        let sandbox = try sandbox()
        let forwarder = try forwarder(source, sandbox, recorder.journal, { example.credential }) {
            $0.signature = example.signature
            $0.transfer.compression = .init(example.compression)
            let place = "http://\(example.host):\(sandbox.address.port)"
            $0.endpoints = [try Endpoint(parsing: place)]
        }
        for number in 1...3 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 3 })
        forwarder.stop(within: .seconds(5))
        let client = ControlClient(port: Int(sandbox.address.port))
        let stats = try client.send("GET", "/stats")
        #expect(stats.contains(#""logs":\#(3 * 3 * Samples.logsPerRow)"#))
        let logs = try client.send("GET", "/logs?project=demo-project&logstore=app-log")
        #expect(logs.contains("value 302 49"))
        #expect(logs.contains("0123456789ABCDEF-3"))
        #expect(recorder.lines.now.isEmpty)
        sandbox.stop()
    }

    @Test("A wrong secret is told with SLS's own words, and a right one ends it")
    func wrongSecret() throws {
        let sandbox = try sandbox()
        let wrong = Credential(accessKeyID: "plainkeyid", secret: Secret("not-the-secret"))
        let credential = Locked(wrong)
        let forwarder = try forwarder(
            source,
            sandbox,
            recorder.journal,
            { credential.withLock { $0 } }
        )
        source.offer(1)
        #expect(recorder.lines.wait { !$0.isEmpty })
        let line = recorder.lines.now.joined()
        #expect(line.contains(#""code":"SignatureNotMatch""#))
        #expect(line.contains("credential again"))
        #expect(!line.contains("not-the-secret"))
        credential.withLock { $0 = Self.plain }
        forwarder.credentialsChanged()
        #expect(source.state.wait { $0.acknowledged == [1] })
        forwarder.stop(within: .seconds(5))
        #expect(forwarder.status[0].failures.keys.contains(.unauthorized))
        sandbox.stop()
    }

    @Test(
        "Whatever goes wrong for a while, everything is delivered in the end",
        arguments: [
            #"{"code":"ServerBusy","count":5}"#,
            #"{"code":"ShardWriteQuotaExceed","count":5}"#,
            #"{"reset":true,"count":5}"#,
            #"{"truncate":true,"count":5}"#,
            #"{"reset":true,"store":true,"count":5}"#,
            #"{"truncate":true,"store":true,"count":5}"#,
            #"{"without_request_id":true,"count":5}"#,
            #"{"status":200,"body":"<html>sign in</html>","count":5}"#,
            #"{"latency_ms":800,"count":2}"#,
        ]
    )
    func faults(fault: String) throws {
        let sandbox = try sandbox()
        let client = ControlClient(port: Int(sandbox.address.port))
        let answer = try client.send("POST", "/faults", fault)
        #expect(answer.hasPrefix("HTTP/1.1 20"), "\(answer)")
        let forwarder = try forwarder(
            source,
            sandbox,
            adjusting: { $0.transfer.transport.sendTimeout = .milliseconds(500) }
        )
        for number in 1...10 as ClosedRange<Int64> { source.offer(number) }
        #expect(source.state.wait { $0.acknowledged.count == 10 })
        forwarder.stop(within: .seconds(5))
        #expect(Set(source.state.now.acknowledged).count == 10)
        let logs = try client.send("GET", "/logs?project=demo-project&logstore=app-log&limit=10000")
        for number in 1...10 {
            #expect(logs.contains("value \(number * 100) 0\""), "packet \(number) arrived")
        }
        sandbox.stop()
    }
}
