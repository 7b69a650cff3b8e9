import Foundation
import TestSupport
import Testing

/// A gateway whose admin listener speaks TLS and asks for certificates, from the command line.
@Suite(.timeLimit(.minutes(1))) struct SecureAdminTests {
    private static let made = TestCertificates.shared

    /// In the group `admin`: a certificate that has no name of this machine, and one for the
    /// commands to show.
    private static let admin =
        "tls: { certificate: \(made.certificate("exact")), key: \(made.key("exact")), "
        + "client_ca: \(made.certificate("authority")) }, "
        + "client: { certificate: \(made.certificate("client")), key: \(made.key("client")) }, "

    @Test(
        "Every command works over it with the gateway's own configuration, or with a URL and files"
    )
    func commands() throws {
        let running = try RunningGateway(admin: Self.admin)
        let made = Self.made
        let sts = running.scratch.file(
            "sts.json",
            #"{"AccessKeyId":"test-id","AccessKeySecret":"test-secret"}"#
        )
        let local = [
            "--config", running.file, "--admin-listen", "127.0.0.1:\(running.listeners.admin)",
        ]
        for words in [
            ["status"], ["status", "--json"], ["destinations"], ["pause", "app"],
            ["resume", "--all"],
            ["flush", "app"], ["credentials"], ["dead-letters"], ["drain"], ["drain", "--end"],
            ["rotate", "--file", sts, "--force"],
        ] {
            let outcome = try Program(words + local, environment: RunningSandbox.keys).finished()
            #expect(outcome.exitCode == 0, "\(words): \(outcome.errors)")
        }
        let pair = ["--admin-cert", made.certificate("client"), "--admin-key", made.key("client")]
        let remote = [
            "--data-dir", "\(running.scratch.path)/data", "--admin-ca",
            made.certificate("authority"),
            "--admin-listen", "https://localhost:\(running.listeners.admin)",
        ]
        let named = try Program(["status"] + remote + pair).finished()
        #expect(named.exitCode == 1)
        #expect(named.errors.contains("is for another name"), "\(named.errors)")
        let bare = try Program(
            ["status", "--admin-listen", "127.0.0.1:\(running.listeners.admin)"]
        ).finished()
        #expect(bare.exitCode == 1)
        #expect(bare.errors.contains("does not answer in plain HTTP"), "\(bare.errors)")
        let audit = try Program(["status", "--json"] + local, environment: RunningSandbox.keys)
            .finished()
        #expect(audit.output.contains(#""names":["api.example.com"]"#), "\(audit.output)")
    }

    @Test("SIGHUP with a mismatched key is refused with its name, and the old pair is served")
    func mistake() throws {
        let running = try RunningGateway(admin: Self.admin)
        let local = [
            "--config", running.file, "--admin-listen", "127.0.0.1:\(running.listeners.admin)",
        ]
        let text = try String(contentsOfFile: running.file, encoding: .utf8)
        let wrong = text.replacingOccurrences(
            of: "key: \(Self.made.key("exact"))",
            with: "key: \(Self.made.key("server"))"
        )
        try wrong.write(toFile: running.file, atomically: true, encoding: .utf8)
        running.program.signal(SIGHUP)
        let told = running.program.errors.next(containing: ["admin.tls.key: the private key in"])
        #expect(told != nil)
        let check = try Program(
            ["check", "--config", running.file],
            environment: RunningSandbox.keys
        )
        .finished()
        #expect(check.exitCode == 2)
        #expect(check.errors.contains("does not belong to the first certificate"))
        #expect(
            try Program(["status"] + local, environment: RunningSandbox.keys).finished().exitCode
                == 0
        )
    }
}
