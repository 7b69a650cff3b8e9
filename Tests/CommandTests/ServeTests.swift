import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct ServeTests {
    private func serve(
        in place: TemporaryDirectory,
        _ more: String...
    ) throws -> (program: Program, url: URL) {
        let ports = ["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]
        let program = try Program(["serve", "--sandbox"] + ports + more, in: place.path)
        let line = try #require(program.output.next(containing: ["Send a log"]))
        let address = try #require(line.split(separator: " ").first { $0.contains("://") })
        return (program, try #require(URL(string: String(address))))
    }

    @Test(
        "serve prints its addresses, accepts logs, and exits with 0 on a signal",
        arguments: [SIGTERM, SIGINT]
    )
    func serves(signal: Int32) throws {
        let place = TemporaryDirectory()
        let (program, url) = try serve(in: place)
        #expect(try post(url, #"{"level":"info"}"#) == 200)
        program.signal(signal)
        let outcome = program.finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("stopped; all logs are delivered"))
        #expect(FileManager.default.fileExists(atPath: place.path + "/sluice-data/admin-token"))
    }

    @Test("SIGHUP with an invalid configuration is refused, and the gateway continues")
    func reload() throws {
        let place = TemporaryDirectory()
        let file = place.file("sluice.yaml", "log: { level: info }\n")
        let (program, url) = try serve(in: place, "--config", file)
        place.file("sluice.yaml", "log: { level: noise }\n")
        program.signal(SIGHUP)
        // The reload takes a moment, in which the end of the program could overtake it.
        #expect(program.errors.next(containing: ["keeps the present configuration"]) != nil)
        #expect(try post(url, #"{"a":1}"#) == 200)
        let outcome = program.stopped()
        #expect(outcome.exitCode == 0)
        #expect(outcome.errors.contains("log.level"))
        #expect(outcome.errors.contains("keeps the present configuration"))
    }

    @Test("A port in use exits with 1 and one line")
    func takenPort() throws {
        let place = TemporaryDirectory()
        let (first, url) = try serve(in: place)
        let port = try #require(url.port)
        let second = try Program(
            [
                "serve", "--sandbox", "--listen", "127.0.0.1:\(port)",
                "--admin-listen", "127.0.0.1:0", "--data-dir", "other", "--log-level", "error",
            ],
            in: place.path
        ).finished()
        #expect(second.exitCode == 1)
        #expect(
            second.errors.hasPrefix("sluice: cannot listen on 127.0.0.1:\(port): the port is taken")
        )
        #expect(second.errors.split(separator: "\n").count == 1)
        #expect(first.stopped().exitCode == 0)
    }

    @Test("A second signal ends a slow stop with 1, and accepted logs stay queued")
    func secondSignal() throws {
        let place = TemporaryDirectory()
        // Nobody listens on port 1, so the log cannot leave.
        let file = place.file(
            "sluice.yaml",
            """
            listen: 127.0.0.1:0
            admin: { listen: "127.0.0.1:0" }
            data_dir: data
            drain_timeout: 50s
            log: { format: json }
            destinations:
              app: { endpoint: "http://localhost:1", project: my-project, logstore: ls, region: here }
            credentials:
              default: { from: static, access_key_id: id, access_key_secret: hush-hush }
            """
        )
        let program = try Program(["serve", "--config", file], in: place.path)
        let port = try #require(program.listeners(), "\(program.errors.lines)").devices
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/logs/x"))
        #expect(try post(url, #"{"a":1}"#) == 200)
        program.signal(SIGTERM)
        _ = try #require(program.errors.next(containing: ["stopping"]))
        let outcome = program.stopped()
        #expect(outcome.exitCode == 1)
        #expect(!outcome.errors.contains("hush-hush"))
    }

    private func post(_ url: URL, _ body: String) throws -> Int? {
        guard let port = url.port, let client = try? TestConnection(port: UInt16(port)) else {
            return nil
        }
        return client.request("POST", url.path, body: body)?.status
    }
}

/// A gateway that takes logs over TLS too, from the command line.
@Suite(.timeLimit(.minutes(10))) struct SecureDevicesTests {
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

/// A gateway whose admin listener speaks TLS and asks for certificates, from the command line.
@Suite(.timeLimit(.minutes(10))) struct SecureAdminTests {
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
