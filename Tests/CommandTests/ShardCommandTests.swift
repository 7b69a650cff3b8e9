import Foundation
import TestNATS
import TestPostgreSQL
import TestSupport
import Testing

/// `sluice shards` and `sluice restore`, with real brokers and a real database.
@Suite(.timeLimit(.minutes(10))) final class ShardCommandTests {
    enum Engine: String, CaseIterable {
        case jetStream = "jetstream"
        case postgreSQL = "postgresql"
    }

    private let scratch = TemporaryDirectory()
    private let sandbox: RunningSandbox
    private var broker: Broker?
    private var database: Database?

    init() throws {
        sandbox = try RunningSandbox()
    }

    private func startServers(of engine: Engine) throws {
        switch engine {
        case .jetStream:
            let broker = Broker()
            try broker.start()
            self.broker = broker
        case .postgreSQL: database = try Database()
        }
    }

    /// The configuration of a gateway in the cluster, or of one with a queue of its own.
    private func file(_ node: String, _ engine: Engine?) throws -> String {
        var text = sandbox.configuration(dataDirectory: "\(scratch.path)/\(node)")
        text += "\ndrain_timeout: 0s\n"
        if let broker, engine == .jetStream {
            text += """
                queue:
                  engine: jetstream
                  max_bytes: 64MiB
                  jetstream: { servers: ["\(broker.address)"], node: \(node), replicas: 1 }
                """
        }
        if let database, engine == .postgreSQL {
            text += """
                queue:
                  engine: postgresql
                  postgresql: { url: "\(database.url)", node: \(node) }
                """
        }
        return scratch.file("\(node)-\(engine?.rawValue ?? "sqlite").yaml", text)
    }

    private func start(
        _ node: String,
        _ engine: Engine?
    ) throws -> (program: Program, devices: TestConnection) {
        let (program, ports) = try Program.serving(try file(node, engine))
        return (program, try TestConnection(port: ports.devices))
    }

    private func post(_ numbers: some Sequence<Int>, to devices: TestConnection) {
        for number in numbers {
            let body = #"{"a":"\#(number)"}"#
            #expect(devices.request("POST", "/logs/moved", body: body)?.status == 200)
        }
    }

    /// Runs a command to its end.
    private func sluice(_ words: String...) throws -> Program.Outcome {
        try Program(words).finished()
    }

    private func stop(_ program: Program) {
        #expect(program.stopped().exitCode == 0)
    }

    private func holdUpDelivery() {
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
    }

    private func shards(_ file: String) throws -> [[String: Any]] {
        let list = try sluice("shards", "--config", file, "--json")
        #expect(list.exitCode == 0, "\(list.errors)")
        let document = try JSONSerialization.jsonObject(with: Data(list.output.utf8))
        return try #require((document as? [String: Any])?["shards"] as? [[String: Any]])
    }

    @Test(
        "Shards are listed, and one is written into a file while its gateway runs",
        arguments: Engine.allCases
    )
    func restore(engine: Engine) throws {
        guard engine == .jetStream || Database.isInstalled else { return }
        try startServers(of: engine)
        holdUpDelivery()
        let gateway = try start("one", engine)
        post(0..<20, to: gateway.devices)
        let file = try file("one", engine)
        #expect(eventually { (try? shards(file).first?["epoch"] as? Int) == 1 })
        let shard = try #require(try shards(file).first)
        #expect(shard["owner"] as? String == "one" && shard["state"] as? String == "owned")
        #expect(shard["role"] as? String == "home" && shard["last_entry"] as? Int ?? 0 > 3)
        #expect((shard["findings"] as? [Any])?.isEmpty == true)
        let name = try #require(shard["name"] as? String)

        let copy = scratch.path + "/copy.db"
        let restored = try sluice("restore", name, copy, "--config", file)
        #expect(restored.exitCode == 0, "\(restored.errors)")
        #expect(restored.output.contains("20 queued logs and 0 dead letters"))
        let check = try sluice("fsck", copy)
        #expect(
            check.exitCode == 0 && check.output.contains("accepted 20 = delivered 0 + queued 20")
        )
        let again = try sluice("restore", name, copy, "--config", file)
        #expect(again.exitCode == 1 && again.errors.contains("\(copy) is there already"))
        let unknown = try sluice("restore", "two~00000000", copy + "2", "--config", file)
        #expect(unknown.exitCode == 1 && unknown.errors.contains("there is no shard two~00000000"))
        // It was not taken.
        post(20..<25, to: gateway.devices)
        stop(gateway.program)
        let list = try sluice("shards", "--config", file)
        #expect(list.output.contains("stopped"), "\(list.output)")
        try FileManager.default.removeItem(atPath: "\(scratch.path)/one")
        let last = try sluice("restore", name, copy + "3", "--config", file, "--json")
        #expect(last.exitCode == 0 && last.output.contains(#""logs":25"#), "\(last.errors)")
    }

    @Test(
        "A stopped gateway's queue moves into the cluster, and each log arrives once",
        arguments: Engine.allCases
    )
    func add(engine: Engine) throws {
        guard engine == .jetStream || Database.isInstalled else { return }
        try startServers(of: engine)
        holdUpDelivery()
        let local = try start("local", nil)
        post(0..<30, to: local.devices)
        let (data, file) = ("\(scratch.path)/local", try file("two", engine))
        let busy = try sluice("shards", "add", data, "--config", file)
        #expect(busy.exitCode == 1 && busy.errors.contains("in use by process"), "\(busy.errors)")
        local.program.killed()
        let cluster = try start("two", engine)
        post(30..<40, to: cluster.devices)
        let moved = try sluice("shards", "add", data + "/", "--config", file)
        #expect(moved.exitCode == 0 && moved.output.contains("30 queued logs"), "\(moved.errors)")
        #expect(sandbox.control("DELETE", "/faults") == 200)
        #expect(cluster.program.errors.next(containing: ["shard adopted"]) != nil)
        #expect(cluster.program.errors.next(containing: ["emptied shard absorbed"]) != nil)
        #expect(sandbox.received(field: "a").map { Int($0) ?? -1 }.sorted() == Array(0..<40))
        let again = try sluice("shards", "add", data, "--config", file)
        #expect(again.exitCode == 1 && again.errors.contains("has no queue.db"))
        stop(cluster.program)
        // The directory begins another queue.
        let next = try start("local", nil)
        post(40..<45, to: next.devices)
        #expect(eventually { sandbox.received(field: "a").count == 45 })
        stop(next.program)
    }

    @Test(
        "A queue moves into the cluster and back, and each log arrives once",
        arguments: Engine.allCases
    )
    func thereAndBack(engine: Engine) throws {
        guard engine == .jetStream || Database.isInstalled else { return }
        try startServers(of: engine)
        holdUpDelivery()
        let local = try start("local", nil)
        post(0..<30, to: local.devices)
        stop(local.program)
        let (data, file) = ("\(scratch.path)/local", try file("two", engine))
        let added = try sluice("shards", "add", data, "--config", file, "--json")
        #expect(added.exitCode == 0, "\(added.errors)")
        let shard = try #require(try shards(file).first)
        let name = try #require(shard["name"] as? String)
        #expect(shard["state"] as? String == "unclaimed")

        let gateway = try start("two", engine)
        #expect(gateway.program.errors.next(containing: ["shard adopted"]) != nil)
        post(30..<40, to: gateway.devices)
        let busy = try sluice("restore", "--take", name, data, "--config", file)
        #expect(busy.exitCode == 1 && busy.errors.contains("the gateway two has the shard \(name)"))
        stop(gateway.program)

        // Its own shard and the adopted one.
        for shard in try shards(file) {
            let name = try #require(shard["name"] as? String)
            let home = shard["role"] as? String == "home"
            let directory = home ? "\(scratch.path)/two" : data
            let back = try sluice("restore", "--take", name, directory, "--config", file)
            #expect(back.exitCode == 0, "\(back.errors)")
            #expect(back.output.contains(home ? "10 queued logs" : "30 queued logs"))
        }
        #expect(try shards(file).isEmpty)
        #expect(sandbox.control("DELETE", "/faults") == 200)
        for node in ["local", "two"] {
            let gateway = try start(node, nil)
            let wanted = node == "local" ? Set(0..<30) : Set(0..<40)
            #expect(
                eventually { Set(sandbox.received(field: "a").compactMap { Int($0) }) == wanted }
            )
            stop(gateway.program)
        }
        #expect(sandbox.received(field: "a").map { Int($0) ?? -1 }.sorted() == Array(0..<40))
    }

    /// Kills the command, later and later, until it ends by itself.
    private func runKilled(_ words: [String]) throws -> (kills: Int, outcome: Program.Outcome) {
        var kills = 0
        var pause = 20_000.0
        while true {
            let command = try Program(words)
            // No event: the kill must come at any moment of the command.
            usleep(useconds_t(pause))
            pause *= 1.5
            command.signal(SIGKILL)
            let outcome = command.finished()
            guard outcome.exitCode == -SIGKILL else { return (kills, outcome) }
            kills += 1
        }
    }

    @Test("Commands that are killed again and again move each log once, there and back")
    func killed() throws {
        try startServers(of: .jetStream)
        holdUpDelivery()
        let local = try start("local", nil)
        let filler = String((0..<4000).map { _ in "0123456789abcdef".randomElement() ?? "0" })
        for number in 0..<600 {
            let body = #"{"a":"\#(number)","b":"\#(filler)\#(number)"}"#
            #expect(local.devices.request("POST", "/logs/moved", body: body)?.status == 200)
        }
        stop(local.program)
        let (data, file) = ("\(scratch.path)/local", try file("two", .jetStream))
        let (kills, added) = try runKilled(["shards", "add", data, "--config", file])
        // If it was killed after its last step, there is nothing left to do.
        #expect(added.exitCode == 0 || added.errors.contains("has no queue.db"), "\(added.errors)")
        #expect(kills > 3)
        let found = try shards(file)
        #expect(found.count == 1)
        let shard = try #require(found.first?["name"] as? String)
        let (more, back) = try runKilled(["restore", "--take", shard, data, "--config", file])
        let isDone = back.exitCode == 0 || back.errors.contains("is there already")
        #expect(isDone, "\(back.errors)")
        #expect(more > 3)
        #expect(try shards(file).isEmpty)
        #expect(sandbox.control("DELETE", "/faults") == 200)
        let again = try start("local", nil)
        #expect(eventually { sandbox.received(field: "a").count >= 600 })
        stop(again.program)
        #expect(sandbox.received(field: "a").map { Int($0) ?? -1 }.sorted() == Array(0..<600))
    }

    @Test(
        "Without a cluster there is nothing to list or restore, and the servers are named if they are away"
    )
    func withoutCluster() throws {
        let local = try file("one", nil)
        let list = try sluice("shards", "--config", local)
        #expect(list.exitCode == 2 && list.errors.contains("queue.engine is sqlite"))
        try startServers(of: .jetStream)
        let file = try file("one", .jetStream)
        broker?.kill()
        let away = try sluice(
            "restore",
            "one~00000000",
            scratch.path + "/copy.db",
            "--config",
            file
        )
        #expect(away.exitCode == 1 && away.errors.contains("sluice restore: queue.jetstream: "))
    }
}
