import Foundation
import TestSupport
import Testing

/// The commands that talk to a running gateway.
@Suite(.timeLimit(.minutes(10))) struct OperatorTests {
    @Test("status shows the ledger as text and as JSON")
    func status() throws {
        let running = try RunningGateway()
        let end = running.operatorEnd
        let text = try end.run("status")
        #expect(text.exitCode == 0, "\(text.errors)")
        #expect(text.output.contains("accepted 0 = delivered 0 + queued 0"), "\(text.output)")
        #expect(try end.ledger()?.isClosed == true)
        withExtendedLifetime(running) {}
    }

    @Test("A poisoned log is listed, shown, exported, edited and replayed from the command line")
    func deadLetters() throws {
        let running = try RunningGateway()
        let (end, sandbox, listeners) = (running.operatorEnd, running.sandbox, running.listeners)
        #expect(sandbox.control("POST", "/poisons", #"{"key":"poison"}"#) == 200)
        let logs = #"[{"number":"1"},{"number":"2","poison":"x"},{"number":"3"}]"#
        #expect(listeners.post("/logs/kill", logs) == 200)
        let isDead = try eventually {
            try end.ledger().map { $0.dead == 1 && $0.delivered == 2 } == true
        }
        #expect(isDead)

        let list = try end.run("dead-letters").output
        #expect(list.contains("1 of app died of PostBodyInvalid"), "\(list)")
        let exported = try end.run("dead-letters", "export").output
        let id = try #require(exported.firstMatch(of: /"id":(\d+)/)?.1)
        #expect(try end.run("dead-letters", "show", String(id)).output.contains(#""number":"2""#))
        let scratch = TemporaryDirectory()
        let file = scratch.file("log.json", #"{"number":"2"}"#)
        let edited = try end.run("dead-letters", "edit", String(id), "--file", file)
        #expect(edited.exitCode == 0, "\(edited.errors)")
        let replayed = try end.run("dead-letters", "replay", "--all")
        #expect(replayed.output == "1 replayed\n", "\(replayed.errors)")
        #expect(try eventually { try end.ledger()?.delivered == 3 })
        #expect(Set(sandbox.received(field: "number")) == ["1", "2", "3"])
    }

    @Test("A list of several pages is one JSON document")
    func pages() throws {
        let running = try RunningGateway()
        let (end, listeners) = (running.operatorEnd, running.listeners)
        #expect(running.sandbox.control("POST", "/poisons", #"{"key":"poison"}"#) == 200)
        // With good ones between them: where all are bad, delivery pauses and gives up none.
        let logs = (0..<150).map { #"{"poison":"\#($0)"}"# + "\n" + #"{"good":"\#($0)"}"# }
            .joined(separator: "\n")
        #expect(listeners.post("/logs/kill", logs) == 200)
        // The queue waits a second before it seals, and each log is found by a few requests.
        let areDead = try eventually { try end.ledger()?.dead == 150 }
        #expect(areDead)
        let output = try end.run("dead-letters", "list", "--json").output
        let document =
            try JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any]
        let letters = try #require(document?["dead_letters"] as? [[String: Any]])
        let numbers = letters.compactMap { ($0["log"] as? [String: Any])?["poison"] as? String }
        #expect(Set(numbers).count == 150 && letters.count == 150)
        #expect((document?["sums"] as? [Any])?.count == 1)
        #expect(document?["next"] is NSNull)
        withExtendedLifetime(running) {}
    }

    @Test(
        "Destinations are changed, paused and resumed, and a gateway drained, from the command line"
    )
    func steering() throws {
        let running = try RunningGateway()
        let (end, listeners) = (running.operatorEnd, running.listeners)
        func post() -> Int? { listeners.post("/logs/kill", #"{"a":1}"#) }
        let set = try end.run("destinations", "set", "app", "topic=night", "packet.logs=7")
        #expect(set.output.contains(#"{"topic":"night","packet":{"logs":"7"}}"#), "\(set.errors)")
        let wrong = try end.run("destinations", "set", "app", "colour=red")
        #expect(wrong.exitCode == 1 && wrong.errors.contains("colour: unknown key"))
        #expect(
            try end.run("destinations", "set", "app", "topic=").output.contains("topic") == false
        )
        #expect(try end.run("destinations", "reset", "app").exitCode == 0)
        #expect(try end.run("pause", "app").output.contains("paused by an operator"))
        #expect(post() == 200)
        #expect(try end.ledger()?.delivered == 0)
        #expect(try end.run("resume", "--all").exitCode == 0)
        #expect(try eventually { try end.ledger()?.delivered == 1 })
        #expect(post() == 200)
        let drained = try end.run("drain")
        #expect(drained.exitCode == 0, "\(drained.errors)")
        #expect(drained.output.contains("0 queued"))
        #expect(post() == 503)
        #expect(try end.run("drain", "--end").exitCode == 0)
        #expect(post() == 200)
        withExtendedLifetime(running) {}
    }

    @Test("A command without a gateway or with a wrong token prints the error and its remedy")
    func unreachable() throws {
        let nobody = try Program(["status", "--admin-listen", "127.0.0.1:1"]).finished()
        #expect(nobody.exitCode == 1)
        #expect(nobody.errors.contains("no gateway answers at 127.0.0.1:1"), "\(nobody.errors)")
        let running = try RunningGateway()
        let stranger = try Program(
            ["status", "--admin-listen", "127.0.0.1:\(running.listeners.admin)"],
            environment: ["SLUICE_ADMIN_TOKEN": String(repeating: "x", count: 32)]
        ).finished()
        #expect(stranger.exitCode == 1)
        #expect(stranger.errors.contains("refuses the token"), "\(stranger.errors)")
    }
}

@Suite(.timeLimit(.minutes(10))) struct HealthTests {
    @Test("health succeeds without a token")
    func healthy() throws {
        let running = try RunningGateway()
        let admin = ["--admin-listen", "127.0.0.1:\(running.listeners.admin)"]
        let elsewhere = ["--data-dir", "\(running.scratch.path)/nowhere"]
        let health = try Program(["health"] + admin + elsewhere).finished()
        #expect(health.exitCode == 0, "\(health.errors)")
        #expect(health.output == "ok\n")
        let ready = try Program(["health", "--ready"] + admin + elsewhere).finished()
        #expect(ready.exitCode == 0, "\(ready.errors)")
        #expect(ready.output == "ready\n")
        withExtendedLifetime(running) {}
    }

    @Test("A draining gateway is healthy and not ready, with the reason")
    func drained() throws {
        let running = try RunningGateway()
        let end = running.operatorEnd
        #expect(try end.run("drain").exitCode == 0)
        #expect(try end.run("health").exitCode == 0)
        let ready = try end.run("health", "--ready")
        #expect(ready.exitCode == 1)
        #expect(ready.output.isEmpty)
        #expect(ready.errors == "the gateway is draining\n")
        let document = try end.run("health", "--ready", "--json")
        #expect(document.exitCode == 1)
        #expect(document.errors.contains("the gateway is draining"))
        withExtendedLifetime(running) {}
    }

    @Test("health fails without a gateway")
    func nobody() throws {
        let running = try RunningGateway()
        running.program.killed()
        let health = try running.operatorEnd.run("health")
        #expect(health.exitCode == 1)
        #expect(health.errors.contains("no gateway answers"), "\(health.errors)")
    }
}

@Suite(.timeLimit(.minutes(10))) struct WatchTests {
    @Test("status begins with whether logs are accepted and delivered")
    func order() throws {
        let running = try RunningGateway()
        let output = try running.operatorEnd.run("status").output
        let lines = output.split(separator: "\n").map { $0.prefix { $0 != " " } }
        #expect(lines.prefix(4) == ["accepting", "delivering", "backlog", "credentials"])
        #expect(output.hasPrefix("accepting    yes\ndelivering   yes\n"), "\(output)")
        withExtendedLifetime(running) {}
    }

    @Test("status --watch continues while the gateway is down and after its return")
    func watch() throws {
        let running = try RunningGateway()
        let watch = try Program(["status", "--watch=1"] + running.operatorEnd.reach)
        #expect(watch.output.next(containing: ["accepting", "yes"]) != nil)
        running.program.signal(SIGTERM)
        #expect(watch.output.next(containing: ["no gateway answers"]) != nil)
        let again = try running.restarted()
        #expect(watch.output.next(containing: ["accepting", "yes"]) != nil)
        // A pipe is no screen.
        #expect(!watch.output.lines.joined().contains("\u{1b}"))
        watch.signal(SIGINT)
        #expect(watch.finished().exitCode == -SIGINT)
        withExtendedLifetime((running, again)) {}
    }
}
