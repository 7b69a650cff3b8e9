import Configuration
import Crypto
import Glibc
import Net
import SLS
import Sandbox
import System
import TestSupport

@testable import Delivery

/// A sandbox whose clock stands at the time of the samples' logs, and a way to ask it.
struct TestSandbox {
    /// When the samples' logs were written.
    static let time = WallTime(seconds: 1_736_843_400)
    static let key = Credential(accessKeyID: "plainkeyid", secret: Secret("plainkeysecret"))

    let server: SandboxServer
    private let control: ControlClient

    init(adjusting: (inout SandboxConfiguration) -> Void = { _ in }) throws {
        var configuration = SandboxConfiguration(
            listen: try ListenAddress(parsing: "127.0.0.1:0"),
            keys: [Self.key]
        )
        configuration.clock = { Self.time }
        adjusting(&configuration)
        server = try SandboxServer(configuration, journal: .silent)
        control = ControlClient(port: Int(server.address.port))
    }

    var port: Int { Int(server.address.port) }

    func endpoint(_ host: String = "127.0.0.1") throws -> Endpoint {
        try Endpoint(parsing: "http://\(host):\(port)")
    }

    /// Lets things go wrong until `wellAgain`.
    func fail(_ fault: String) throws {
        let answer = try control.send("POST", "/faults", fault)
        precondition(answer.hasPrefix("HTTP/1.1 20"), answer)
    }

    func wellAgain() throws {
        _ = try control.send("DELETE", "/faults")
    }

    func stats() throws -> String { try control.send("GET", "/stats") }

    /// Whether a packet of `MemorySource` has come.
    func has(packet number: Int64, logstore: String = "app-log") throws -> Bool {
        let logs = try control.send(
            "GET",
            "/logs?project=demo-project&logstore=\(logstore)&limit=100000"
        )
        return logs.contains("value \(number * 100) 0\"")
    }

    /// The values of all logs of `Samples`, as often as they arrived.
    func values() throws -> [String] {
        let logs = try control.send("GET", "/logs?project=demo-project&limit=100000")
        return logs.split(separator: #""k":""#).dropFirst().map { String($0.prefix { $0 != "\"" }) }
    }

    /// The times of all logs, each once, in order.
    func times() throws -> [String] {
        let logs = try control.send("GET", "/logs?project=demo-project&limit=100000")
        let times = logs.split(separator: #""__time__":"#).dropFirst()
        return Set(times.map { String($0.drop { $0 == "\"" }.prefix(while: \.isNumber)) }).sorted()
    }

    func stop() { server.stop() }

    /// A forwarder to these sandboxes, in this order.
    static func forwarder(
        _ source: MemorySource,
        _ sandboxes: [TestSandbox],
        _ journal: Journal = .silent,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws -> Forwarder {
        var settings = try Samples.destination(port: sandboxes[0].port)
        settings.endpoints = try sandboxes.map { sandbox in try sandbox.endpoint() }
        adjusting(&settings)
        return try Forwarder.started(
            [settings],
            source: source,
            credentials: { _ in key },
            journal: journal,
            now: { time }
        )
    }
}

/// Talks to the sandbox's control API.
struct ControlClient {
    let port: Int

    /// The whole answer, head and body.
    func send(_ method: String, _ path: String, _ body: String = "") throws -> String {
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: sandbox\r\nConnection: close\r\n"
            + "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let connection = try TestConnection(port: UInt16(port))
        connection.send(request)
        return connection.rest()
    }
}
