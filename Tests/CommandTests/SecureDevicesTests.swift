import Foundation
import TestSupport
import Testing

/// A gateway that takes logs over TLS too, from the command line.
@Suite(.timeLimit(.minutes(1))) struct SecureDevicesTests {
    private static let made = TestCertificates.shared
    private static let group =
        "\ntls: { listen: \"127.0.0.1:0\", certificate: \(made.certificate("server")), "
        + "key: \(made.key("server")) }\n"

    @Test("serve prints the TLS address, and SIGHUP refuses a key that does not match")
    func start() throws {
        let running = try RunningGateway(Self.group)
        let said = running.program.errors.lines.first { $0.contains("TLS listener is ready") }
        let line = try #require(said, "\(running.program.errors.lines)")
        let port = try #require(Program.port(of: "devices-tls", in: line))
        let answer = (try? TestConnection(port: port))?.request("GET", "/healthz")
        #expect(answer?.status == 400, "it speaks TLS and nothing else")
        let text = try String(contentsOfFile: running.file, encoding: .utf8)
        let wrong = text.replacingOccurrences(
            of: "key: \(Self.made.key("server"))",
            with: "key: \(Self.made.key("exact"))"
        )
        try wrong.write(toFile: running.file, atomically: true, encoding: .utf8)
        running.program.signal(SIGHUP)
        #expect(
            running.program.errors.next(containing: [": tls.key: the private key in"]) != nil
        )
        #expect((try? TestConnection(port: port))?.request("GET", "/healthz")?.status == 400)
    }
}
