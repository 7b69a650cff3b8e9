import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct UsageTests {
    @Test("The version is one line", arguments: ["--version", "version"])
    func version(word: String) throws {
        let outcome = try Program([word]).finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.output == "sluice 0.1.0\n")
    }

    @Test(
        "Help is there for all and for each",
        arguments: [
            ["help"], [], ["--help"], ["help", "serve"], ["serve", "--help"], ["help", "check"],
            ["sandbox", "-h"], ["help", "fsck"], ["help", "backup"], ["help", "shards"],
            ["help", "restore"], ["help", "help"], ["help", "completion"],
        ]
    )
    func help(words: [String]) throws {
        let outcome = try Program(words).finished()
        #expect(outcome.exitCode == 0)
        #expect(outcome.output.contains("Usage: sluice "))
        #expect(outcome.errors.isEmpty)
    }

    @Test("Every metric has its help, in text and in Markdown")
    func metrics() throws {
        let text = try Program(["help", "metrics"]).finished()
        #expect(text.exitCode == 0 && text.errors.isEmpty)
        #expect(
            text.output.contains(
                "  sluice_logs_queued {destination}, gauge\n      Logs that wait for delivery.\n"
            )
        )
        let table = try Program(["help", "metrics", "--markdown"]).finished()
        #expect(table.exitCode == 0)
        #expect(table.output.contains("\n| `sluice_logs_queued` | gauge | `destination` | "))
    }

    @Test(
        "A wrong word is answered in one line with a hint",
        arguments: [
            (["serv"], "unknown command serv, did you mean serve? (see: sluice help)\n"),
            (["help", "nonsense"], "unknown command nonsense (see: sluice help)\n"),
            (
                ["serve", "--sandbx"],
                "unknown option --sandbx, did you mean --sandbox? (see: sluice help serve)\n"
            ),
            (
                ["serve", "--config"],
                "--config needs a value: --config FILE (see: sluice help serve)\n"
            ),
            (
                ["serve", "--config", "a", "--config=b"],
                "--config is given twice (see: sluice help serve)\n"
            ),
            (["serve", "--sandbox=yes"], "--sandbox takes no value (see: sluice help serve)\n"),
            (
                ["serve", "--sandbox", "--sandbox"],
                "--sandbox is given twice (see: sluice help serve)\n"
            ),
            (["fsck"], "fsck needs a value: sluice fsck DIR (see: sluice help fsck)\n"),
            (["fsck", "a", "b"], "sluice fsck: unexpected b (see: sluice help fsck)\n"),
            (["backup"], "backup needs a value: sluice backup FILE (see: sluice help backup)\n"),
            (["backup", "a", "--json=1"], "--json takes no value (see: sluice help backup)\n"),
            (["help", "--schema"], "--schema does not go with these words (see: sluice help)\n"),
            (
                ["help", "settings", "queue", "--man"],
                "--man does not go with these words (see: sluice help settings)\n"
            ),
            (["completion"], "completion needs a value: sluice completion bash|zsh|fish"),
            (["completion", "bsh"], "unknown shell bsh, did you mean bash?"),
            (["--version", "extra"], "sluice --version: unexpected extra (see: sluice help)\n"),
            (["help", "metrics", "x"], "sluice help: unexpected x (see: sluice help)\n"),
            (["help", "serve", "extra"], "sluice help: unexpected extra (see: sluice help)\n"),
            (
                ["check", "file.yaml"],
                "sluice check: unexpected file.yaml (see: sluice help check)\n"
            ),
            (["status", "more"], "sluice status: unexpected more"),
            (["status", "--watch=0"], "--watch is a number of seconds"),
            (["status", "--watch=soon"], "--watch is a number of seconds"),
            (["status", "--watch="], "--watch is a number of seconds"),
            (["tail", "--limit=0"], "--limit is a number of logs"),
            (["tail", "--limit=-1"], "--limit is a number of logs"),
            (["tail", "--limit=all"], "--limit is a number of logs"),
            (["dead-letters", "relist"], "unknown verb relist"),
            (["dead-letters", "replay"], "replay needs ids, a filter or --all"),
            (["dead-letters", "purge", "x"], "x is not the id of a dead letter"),
            (["dead-letters", "show"], "show needs the id of one dead letter"),
            (["dead-letters", "edit", "5"], "edit needs --file FILE"),
            (["dead-letters", "list", "5"], "sluice dead-letters: unexpected 5"),
            (["route"], "route needs a tag: sluice route TAG (see: sluice help route)\n"),
            (["route", "a", "b"], "sluice route: unexpected b (see: sluice help route)\n"),
            (["route", "a", "--file", "/nowhere"], "/nowhere cannot be read: No such file"),
            (
                ["route", "a", "--config", "x.yaml", "--admin-listen", "127.0.0.1:1"],
                "--admin-listen asks a running gateway, and --config needs none; use one of them"
            ),
        ]
    )
    func wrong(words: [String], complaint: String) throws {
        let outcome = try Program(words).finished()
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.hasPrefix(complaint), "\(outcome.errors)")
        #expect(outcome.errors.firstMatch(of: /^.* \(see: sluice help.*\)\n$/)?.output != nil)
        #expect(outcome.output.isEmpty)
    }

    @Test("check summarises a valid configuration and shows no key")
    func checkFine() throws {
        let outcome = try Program(
            ["check", "--data-dir", "/tmp/sluice-check", "--listen", "127.0.0.1:8080"],
            environment: [
                "SLUICE_ENDPOINT": "cn-hangzhou.log.aliyuncs.com", "SLUICE_PROJECT": "my-project",
                "SLUICE_LOGSTORE": "app-log", "ALIBABA_CLOUD_ACCESS_KEY_ID": "LTAI5tExampleKey",
                "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "do-not-show-me",
            ]
        ).finished()
        #expect(outcome.exitCode == 0)
        #expect(
            outcome.output == """
                configuration is fine
                  devices      127.0.0.1:8080
                  admin        127.0.0.1:8081, with a token of its own making
                  queue        /tmp/sluice-check, engine sqlite, up to 4GiB or 7d, durability full
                  destination  default (default): my-project/app-log at \
                https://cn-hangzhou.log.aliyuncs.com, signature v4, key LTAI…eKey

                """
        )
    }

    @Test("check reports every error and exits with 2")
    func checkWrong() throws {
        let words = ["check", "--listen", "nowhere", "--log-level", "loud", "--sandbox"]
        let outcome = try Program(words).finished()
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.split(separator: "\n").count == 2)
        #expect(outcome.errors.contains("--listen: "))
        #expect(outcome.errors.contains("--log-level: "))
    }

    @Test("serve without a configuration prints how to begin and exits with 2")
    func serveWithNothing() throws {
        let outcome = try Program(["serve"]).finished()
        #expect(outcome.exitCode == 2)
        #expect(outcome.errors.contains("sluice serve --sandbox"))
    }
}

/// `sluice route`, with and without a gateway.
@Suite(.timeLimit(.minutes(10))) struct RouteCommandTests {
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
}
