import Foundation
import NATS
import System
import TestNATS
import TestSupport
import Testing

/// A gateway whose queue lies in JetStream. One broker has the only copy here; CommitLogTests have
/// three.
@Suite(.timeLimit(.minutes(10))) final class JetStreamTests {
    private(set) var broker = Broker()
    let scratch = TemporaryDirectory()
    let sandbox: RunningSandbox

    init() throws {
        sandbox = try RunningSandbox()
    }

    /// A gateway on a machine of its own, which has only its configuration; or another command with
    /// that.
    func gateway(
        _ machine: String,
        _ more: String = "",
        command: String = "serve",
        _ options: [String] = []
    ) throws -> Program {
        let file = scratch.file(
            "\(machine).yaml",
            sandbox.configuration(dataDirectory: "\(scratch.path)/\(machine)") + """

                queue:
                  engine: jetstream
                  max_bytes: 64MiB
                  commit_wait: 3s
                  jetstream: { servers: ["\(broker.address)"], node: a, replicas: 1 \(more) }
                """
        )
        return try Program([command, "--config", file] + options, environment: RunningSandbox.keys)
    }

    func connection(_ port: UInt16) throws -> TestConnection { try TestConnection(port: port) }

    @Test("Without its brokers a gateway lives, refuses logs and says why; with them it begins")
    func waiting() throws {
        let gateway = try gateway("one")
        let line = try #require(gateway.errors.next(containing: ["waits for its commit log"]))
        let devices = try connection(try #require(Program.port(of: "devices", in: line)))
        let admin = try connection(try #require(Program.port(of: "admin", in: line)))
        #expect(admin.request("GET", "/healthz")?.status == 200)
        let ready = try #require(admin.request("GET", "/readyz"))
        #expect(ready.status == 503)
        // Strangers learn no hosts; the journal has them.
        #expect(ready.text.contains("the queue waits for its commit log"), "\(ready.text)")
        #expect(!ready.text.contains("Connection refused"), "\(ready.text)")
        #expect(line.contains("Connection refused"), "\(line)")
        #expect(admin.request("GET", "/admin/status")?.status == 503)
        let refusal = try #require(devices.request("POST", "/logs/away", body: #"{"a":"1"}"#))
        #expect(refusal.status == 503)
        #expect(refusal["retry-after"] != nil)
        #expect(devices.request("GET", "/healthz")?.status == 200)

        try broker.start()
        let listeners = try #require(gateway.listeners())
        #expect(listeners.post("/logs/away", #"{"a":"1"}"#) == 200)
        #expect(gateway.stopped().exitCode == 0)
        #expect(sandbox.received(field: "a") == ["1"])
    }

    @Test("A stop while it waits for its brokers ends it at once")
    func stopWhileWaiting() throws {
        let gateway = try gateway("one")
        _ = gateway.errors.next(containing: ["waits for its commit log"])
        let end = gateway.stopped()
        #expect(end.exitCode == 0)
        #expect(end.errors.contains("stopped before the queue was open"))
    }

    @Test("Another machine goes on with the queue of one that is lost, under its name")
    func move() throws {
        try broker.start()
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let lost = try gateway("one")
        let listeners = try #require(lost.listeners())
        for number in 0..<20 {
            #expect(listeners.post("/logs/away", #"{"a":"\#(number)"}"#) == 200)
        }
        lost.killed()

        let heir = try gateway("two")
        _ = try #require(heir.listeners())
        #expect(sandbox.control("DELETE", "/faults") == 200)
        let end = heir.stopped()
        #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
        #expect(Set(sandbox.received(field: "a")) == Set((0..<20).map { "\($0)" }))
    }

    @Test("A second gateway of one name says so, and begins when the first has ended")
    func sameName() throws {
        try broker.start()
        let first = try gateway("one")
        let old = try #require(first.listeners())
        let second = try gateway("two")
        #expect(
            second.errors.next(containing: [
                "the queue waits for its commit log", "another gateway of the cluster has the name",
            ]) != nil
        )
        #expect(old.post("/logs/away", #"{"a":"1"}"#) == 200)
        #expect(first.stopped().exitCode == 0)
        #expect(second.errors.next(containing: ["the queue is open"]) != nil)
        let new = try #require(second.listeners())
        #expect(new.post("/logs/away", #"{"a":"2"}"#) == 200)
        #expect(second.stopped().exitCode == 0)
        #expect(Set(sandbox.received(field: "a")) == ["1", "2"])
    }

    @Test("What does not pass by itself ends the start with the reason")
    func refusals() throws {
        func complaint(_ machine: String, _ more: String = "") throws -> String {
            let end = try self.gateway(machine, more).finished()
            #expect(end.exitCode == 1)
            return String(end.errors.split(separator: "\n").last ?? "")
        }
        try broker.start()
        #expect(
            try complaint("one", ", nkey: \(scratch.file("seed", "hush"))")
                == "sluice: queue.jetstream: \(broker.address): \(scratch.path)/seed holds no seed of a "
                + "user's key (SU…)"
        )
        // A queue of logs that would wait unseen.
        let local = scratch.file(
            "local.yaml",
            sandbox.configuration(dataDirectory: "\(scratch.path)/two")
        )
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let (gateway, listeners) = try Program.serving(local)
        #expect(listeners.post("/logs/away", #"{"a":"1"}"#) == 200)
        gateway.killed()
        #expect(
            try complaint("two")
                == "sluice: \(scratch.path)/two/queue.db has 1 undelivered logs of another queue.engine; start "
                + "with that engine until they are delivered, or move the file and its -wal away"
        )
    }

    @Test("A deleted stream is not replaced by an empty one")
    func deletedStream() throws {
        try broker.start()
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let first = try gateway("one")
        let listeners = try #require(first.listeners())
        #expect(listeners.post("/logs/away", #"{"a":"1"}"#) == 200)
        first.killed()
        let client = try NATSClient(
            NATSSettings(servers: [broker.address], name: "test"),
            journal: .silent
        )
        try client.waitUntilConnected(atMost: .seconds(20))
        let shards = try FileManager.default.contentsOfDirectory(
            atPath: "\(scratch.path)/one/shards"
        )
        let shard = try #require(shards.first)
        _ = try client.request(
            "$JS.API.STREAM.DELETE.SLUICE_main_Q_\(shard)",
            timeout: .seconds(5)
        )
        // Brokers that elect may not list it for a while, so the gateway does not give up at once.
        let second = try gateway("one").finished()
        #expect(second.exitCode == 1)
        #expect(
            second.errors.contains(
                "the servers do not have the log of the shard \(shard) (jetstream SLUICE_main_Q_\(shard)), and "
                    + "\(scratch.path)/one/shards/\(shard)/scratch.db has 1 undelivered logs of it; see that all "
                    + "servers run and are the right ones, restore the log, or remove the directory to go on"
            ),
            "\(second.errors)"
        )
    }

    @Test("The permissions in docs/cluster.md are all that a gateway needs")
    func permissions() throws {
        let page = String(decoding: readFile(repositoryFile("docs/cluster.md")), as: UTF8.self)
        let start = try #require(page.firstRange(of: "permissions: {")).lowerBound
        let end = try #require(page[start...].firstRange(of: "\n}\n")).upperBound
        var options = Broker.Options()
        options.lines = """
            authorization { users: [{ user: gateway, password: hush, \(page[start..<end]) }] }
            """
        broker = Broker(options)
        try broker.start()
        let login = ", user: gateway, password: hush"
        for machine in ["one", "two"] {
            let check = try gateway(machine, login, command: "check").finished()
            #expect(check.exitCode == 0, "\(check.errors)")
            let gateway = try gateway(machine, login)
            let listeners = try #require(gateway.listeners())
            #expect(listeners.post("/logs/away", #"{"a":"1"}"#) == 200)
            let end = gateway.stopped()
            #expect(end.errors.contains("stopped; all logs are delivered"), "\(end.errors)")
            #expect(!end.errors.contains("Permissions Violation"), "\(end.errors)")
        }
        let refused = try gateway("three", ", user: gateway, password: wrong").finished()
        #expect(refused.exitCode == 1)
        #expect(refused.errors.contains("Authorization Violation"), "\(refused.errors)")
        #expect(!refused.errors.contains("wrong"))
    }

    @Test("check asks the brokers, unless it is told not to")
    func check() throws {
        func check(_ options: String...) throws -> Program.Outcome {
            try gateway("one", command: "check", options).finished()
        }
        let away = try check()
        #expect(away.exitCode == 1)
        #expect(
            away.errors
                == "sluice check: queue.jetstream: \(broker.address): connect: Connection refused\n"
        )
        #expect(try check("--offline").exitCode == 0)
        try broker.start()
        try #require(broker.waitUntilReady(), "\(broker.log)")
        let here = try check()
        #expect(here.exitCode == 0, "\(here.errors)")
        #expect(here.output.contains("the cluster main has 0 shards"))
        #expect(here.output.contains("the stream SLUICE_main_REG is made at the first start"))
        #expect(here.output.contains("the server is in no cluster"))
    }
}
