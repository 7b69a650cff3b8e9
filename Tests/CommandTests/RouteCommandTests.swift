import TestSupport
import Testing

/// `sluice route`, with and without a gateway.
@Suite(.timeLimit(.minutes(1))) struct RouteCommandTests {
    private static let rules = """

        filters:
          - { name: mask, match: "pv.**", steps: [{ redact: { fields: [msg], pattern: email } }] }
        routes: [{ match: "pv.*", to: [app] }]
        unrouted: drop
        """

    @Test(
        "A running gateway and its file give the same answer, and its journal does not have the log"
    )
    func onlineAndOffline() throws {
        let running = try RunningGateway(Self.rules)
        let scratch = TemporaryDirectory()
        let logs = scratch.file("logs.json", #"{"msg":"canary@x.example"}"#)
        for more in [[], ["--json"]] {
            let words = ["route", "pv.a", "--file", logs] + more
            let online = try Program(words + running.operatorEnd.reach).finished()
            // It needs no keys.
            let offline = try Program(words + ["--config", running.file]).finished()
            #expect(online.exitCode == 0 && offline.exitCode == 0, "\(online) \(offline)")
            #expect(online.output == offline.output)
            #expect(online.output.contains("********"), "\(online.output)")
        }
        withExtendedLifetime(scratch) {}
        running.program.signal(15)
        let end = running.program.finished()
        #expect(end.exitCode == 0 && !end.errors.contains("canary"), "\(end.errors)")
    }

    @Test("One object, an array and NDJSON are logs")
    func files() throws {
        let scratch = TemporaryDirectory()
        let file = scratch.file(
            "sluice.yaml",
            try RunningSandbox().configuration(dataDirectory: scratch.path) + Self.rules
        )
        func logs(_ text: String) throws -> Program.Outcome {
            try Program(
                ["route", "pv.a", "--config", file, "--file", scratch.file("logs.json", text)]
            ).finished()
        }
        for text in [#"[{"a":1},{"b":2}]"#, "{\"a\":1}\n{\"b\":2}\n", #"[{"a":1}] [{"b":2}]"#] {
            let outcome = try logs(text)
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.output.contains("\nlog 1        a=1\n"), "\(outcome.output)")
            #expect(outcome.output.contains("\nlog 2        b=2\n"))
        }
        for (text, complaint) in [
            ("", "has no logs"), ("[7]", "element 0 is no object"), ("{", "is no JSON at byte"),
            ("[{}", "a comma or ] is expected"),
        ] {
            let outcome = try logs(text)
            #expect(
                outcome.exitCode == 2 && outcome.errors.contains(complaint),
                "\(outcome.errors)"
            )
        }
    }

    @Test("Wrong arguments are answered in one line")
    func wrong() throws {
        for (words, complaint) in [
            ([], "route needs a tag: sluice route TAG"),
            (["a", "b"], "sluice route: unexpected b"),
            (["a", "--file", "/nowhere"], "/nowhere cannot be read: No such file"),
            (
                ["a", "--config", "x.yaml", "--admin-listen", "127.0.0.1:1"],
                "--admin-listen asks a running gateway, and --config needs none; use one of them"
            ),
        ] {
            let outcome = try Program(["route"] + words).finished()
            #expect(outcome.exitCode == 2 && outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix(complaint), "\(outcome.errors)")
            #expect(outcome.errors.hasSuffix("(see: sluice help route)\n"))
        }
    }
}
