import Configuration
import Glibc
import Queue
import Rendering
import SQLiteQueue
import System
import TestGateway
import TestSupport
import Testing

@testable import Delivery
@testable import Gateway
@testable import Operations

/// Destinations that come and go with the file while the gateway runs.
@Suite(.timeLimit(.minutes(10))) struct ChangingDestinationsTests {
    private let directory = TemporaryDirectory()
    private let recorder = JournalRecorder(level: .info)

    /// Entries of `destinations`, by name.
    private static let nowhere = "{ endpoint: 'http://localhost:1', project: lost, logstore: lost }"

    private func file(_ name: String, in folder: String = "") -> String {
        "{ kind: file, path: \(directory.path)/\(folder)\(name).ndjson, packet: {age: 10ms}, "
            + "retry: {first: 10ms, most: 100ms} }"
    }

    private func describe(_ destinations: [(String, String)], _ more: String = "") {
        let entries = destinations.map { "  \($0): \($1)\n" }.joined()
        _ = directory.gatewayFile(
            """
            credentials: { default: { from: static, access_key_id: i, access_key_secret: s } }
            \(more)
            destinations:
            \(entries)
            """
        )
    }

    private func gateway() throws -> Gateway {
        let reader = ConfigurationReader(
            .init(file: "\(directory.path)/sluice.yaml", environment: [:])
        )
        return try Gateway(try reader.read([:], rereadsFile: true), journal: recorder.journal) {
            decided,
            rereadsFile throws(ConfigurationProblems) in
            try reader.read(decided, rereadsFile: rereadsFile)
        }
    }

    private func reread(_ gateway: Gateway) {
        gateway.reread()
        gateway.workers.changes.waitUntilHere()
    }

    private func close(_ gateway: Gateway) {
        gateway.configurationReload.closeEmptied(after: .zero)
    }

    private func post(
        _ gateway: Gateway,
        _ tag: String = "pv.home",
        project: String? = nil
    ) throws -> Int {
        try gateway.deviceClient
            .post("/logs/\(tag)", #"{"a":"1"}"#.utf8, project.map { ["x-log-project": $0] } ?? [:])
            .status
    }

    private func lines(_ name: String) -> Int {
        readFile("\(directory.path)/\(name).ndjson").count { $0 == 10 }
    }

    private func isOpen(_ name: String) -> Bool {
        (3..<256).contains { number in
            var path = [CChar](repeating: 0, count: 4096)
            let count = unsafe readlink("/proc/self/fd/\(number)", &path, path.count - 1)
            let bytes = path.prefix(max(count, 0)).map(UInt8.init(truncatingIfNeeded:))
            return String(decoding: bytes, as: UTF8.self) == "\(directory.path)/\(name).ndjson"
        }
    }

    @Test("A new destination takes logs by the routes of the same reload")
    func added() throws {
        describe([("out", file("out"))])
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        describe(
            [("out", file("out")), ("new", file("new"))],
            "routes: [{ match: 'pv.**', to: [new] }]"
        )
        reread(gateway)
        #expect(try post(gateway) == 200)
        #expect(eventually { lines("new") == 1 && lines("out") == 1 })
        #expect(eventually { gateway.report.queue.ledger.delivered == 2 })
        #expect(try gateway.ask("/admin/destinations/new").text.contains(#""configured":true"#))
        let metrics = try gateway.ask("/metrics").text
        #expect(metrics.contains(#"sluice_delivery_state{destination="new",state="fine"} 1"#))
        #expect(metrics.contains(#"sluice_destination_leaving{destination="new"} 0"#))
        #expect(recorder.text.contains("destinations.new (new)"))
        #expect(!recorder.text.contains("restart"))
    }

    @Test("A new file destination that changes before its first log writes to the new path")
    func changedBeforeFirstLog() throws {
        describe([("out", file("out"))])
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        describe([("out", file("out")), ("new", file("first"))], routes("new"))
        reread(gateway)
        describe([("out", file("out")), ("new", file("second"))], routes("new"))
        reread(gateway)
        #expect(try post(gateway) == 200)
        #expect(eventually { lines("second") == 1 })
        #expect(lines("first") == 0)
    }

    @Test("A removed destination takes no logs, delivers its last ones, and is closed")
    func removed() throws {
        describe(
            [("out", file("out")), ("old", file("old")), ("lost", Self.nowhere)],
            routes("old")
        )
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        #expect(try post(gateway, project: "lost") == 200)
        #expect(eventually { lines("old") == 1 && isOpen("old") })
        describe([("out", file("out"))])
        reread(gateway)
        #expect(try post(gateway, project: "lost") == 404)
        #expect(try post(gateway) == 200)
        #expect(eventually { lines("out") == 1 })
        #expect(eventually { gateway.report.queue.ledger.delivered == 2 })
        close(gateway)
        // One has logs.
        #expect(eventually { gateway.forwarder.status.map(\.name) == ["out", "lost"] })
        #expect(gateway.report.destinations.map(\.isRemoved) == [false, true])
        #expect(gateway.report.reasonsAgainstTraffic.isEmpty)
        #expect(eventually { !isOpen("old") })
        let metrics = try gateway.ask("/metrics").text
        #expect(metrics.contains(#"sluice_destination_leaving{destination="lost"} 1"#))
        #expect(!metrics.contains(#"sluice_delivery_state{destination="old""#))
        #expect(metrics.contains(#"sluice_logs_delivered_total{destination="old"} 1"#))
        #expect(try gateway.ask("/admin/destinations/old").status == 404)
        let answer = try gateway.ask("/admin/status").body
        let text = View.status.text(of: answer)
        #expect(text.contains(", leaving"), "\(text)")
        #expect(gateway.report.queue.ledger.isClosed && gateway.report.queue.intake.isClosed)
    }

    private func routes(_ name: String) -> String { "routes: [{ match: 'pv.**', to: [\(name)] }]" }

    @Test("A destination that is down when it is removed delivers once it is up, and then closes")
    func downThenUp() throws {
        let folder = directory.path + "/far"
        mkdir(folder, 0o755)
        let far = ("old", file("old", in: "far/"))
        describe([("out", file("out")), far], routes("old"))
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        rmdir(folder)
        for _ in 0..<5 { #expect(try post(gateway) == 200) }
        describe([("out", file("out"))])
        reread(gateway)
        close(gateway)
        #expect(gateway.report.destinations.map(\.name) == ["out", "old"])
        #expect(gateway.report.queue.destinations["old"]?.ledger.queued == 5)
        mkdir(folder, 0o755)
        gateway.forwarder.tryAgain(["old"])
        #expect(eventually { gateway.report.queue.destinations["old"]?.ledger.delivered == 5 })
        close(gateway)
        #expect(eventually { gateway.forwarder.status.count == 1 })
        #expect(gateway.report.destinations.map(\.name) == ["out"])
        #expect(lines("far/old") == 5)
        #expect(gateway.report.queue.ledger.isClosed)
    }

    @Test("Dead letters of a removed destination stay, and can be purged")
    func deadLetters() throws {
        let more = "routes: []\nunrouted: dead_letter"
        describe([("old", file("old")), ("out", file("out"))], more)
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        describe([("out", file("out"))], more)
        reread(gateway)
        close(gateway)
        #expect(eventually { gateway.forwarder.status.count == 1 })
        #expect(gateway.report.strangers["old"]?.dead == 1)
        let letters = try gateway.ask("/admin/dead-letters?destination=old").text
        #expect(letters.contains("Unrouted"), "\(letters)")
        let purged = try gateway.ask("POST", "/admin/dead-letters/purge?destination=old")
        #expect(purged.status == 200, "\(purged.text)")
        #expect(eventually { gateway.report.strangers["old"]?.dead == 0 })
        #expect(gateway.report.queue.ledger.isClosed)
    }

    @Test("A destination can be added again while it is leaving, and after it was closed")
    func again() throws {
        let all = [("out", file("out")), ("old", file("old"))]
        describe(all, routes("old"))
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(try post(gateway) == 200)
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
        for isClosed in [false, true, false, true] {
            describe([all[0]])
            reread(gateway)
            if isClosed { close(gateway) }
            describe(all, routes("old"))
            reread(gateway)
            let before = lines("old")
            #expect(try post(gateway) == 200)
            #expect(eventually { lines("old") == before + 1 })
            #expect(gateway.report.destinations.map(\.isRemoved) == [false, false])
        }
        close(gateway)
        #expect(gateway.report.destinations.count == 2)
        #expect(eventually { gateway.report.queue.ledger.delivered == 5 })
        #expect(gateway.report.queue.ledger.isClosed)
    }

    @Test("Logs that waited for a destination without an entry go when SIGHUP brings it back")
    func strangers() throws {
        describe([("out", file("out")), ("old", Self.nowhere)])
        do {
            let gateway = try gateway()
            defer { gateway.stop(within: .zero) }
            #expect(try post(gateway, project: "lost") == 200)
        }
        describe([("out", file("out"))])
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        #expect(gateway.report.queue.destinations["old"]?.ledger.queued == 1)
        describe([("out", file("out")), ("old", file("old"))])
        reread(gateway)
        #expect(eventually { lines("old") == 1 })
        #expect(eventually { gateway.report.queue.ledger.delivered == 1 })
    }

    @Test("A reload with a mistake, or a destination that cannot be written, changes nothing")
    func refused() throws {
        describe([("out", file("out"))])
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let more = routes("new") + "\nlog: {level: debug}"
        describe([("other", file("other")), ("new", file("new", in: "missing/"))], more)
        reread(gateway)
        #expect(recorder.text.contains("missing/new.ndjson cannot be made"))
        describe([("other", file("other")), ("new", "{ kind: file, pat: /tmp/x }")], more)
        reread(gateway)
        #expect(recorder.text.contains("destinations.new.pat"))
        describe([("other", file("other"))], more)
        reread(gateway)
        #expect(recorder.count(of: "the gateway keeps the present configuration") == 2)
        #expect(recorder.journal.level == .info)
        #expect(gateway.report.destinations.map(\.name) == ["out"])
        #expect(gateway.forwarder.status.map(\.name) == ["out"])
        #expect(try post(gateway) == 200)
        #expect(eventually { lines("out") == 1 })
    }

    @Test("Under load, reloads that add and remove a destination lose nothing")
    func underLoad() throws {
        let all = [("out", file("out")), ("extra", file("extra"))]
        describe([all[0]])
        let gateway = try gateway()
        defer { gateway.stop(within: .zero) }
        let isOver = Locked(false)
        let accepted = Locked(0)
        let refused = Locked<[Int]>([])
        let senders = try (0..<3).map { number in
            try Worker("sender-\(number)") {
                let client = gateway.deviceClient
                while !isOver.withLock({ $0 }) {
                    let status = try? client.post("/logs/pv.home", #"{"a":"1"}"#.utf8).status
                    if status == 200 {
                        accepted.withLock { $0 += 1 }
                    } else {
                        refused.withLock { $0.append(status ?? 0) }
                    }
                }
            }
        }
        for round in 0..<20 {
            describe(all, "routes: [{ match: 'pv.**', to: [out, extra] }]")
            reread(gateway)
            #expect(try post(gateway) == 200)
            accepted.withLock { $0 += 1 }
            describe([all[0]])
            gateway.reread()
            reread(gateway)
            if round.isMultiple(of: 2) { close(gateway) }
        }
        isOver.withLock { $0 = true }
        for sender in senders { sender.join() }
        describe(all)
        reread(gateway)
        #expect(refused.withLock { $0 }.isEmpty)
        let (sent, queue) = (accepted.withLock { $0 }, gateway.store)
        #expect(eventually { queue.status.ledger.queued == 0 })
        let status = queue.status
        #expect(status.ledger.isClosed && status.intake.isClosed)
        #expect(status.intake.received == sent && status.intake.routed == sent)
        #expect(Int(status.ledger.delivered) == status.intake.copies)
        #expect(lines("out") == sent)
        #expect(lines("extra") == status.intake.copies - sent)
        #expect(lines("extra") >= 20)
    }

    @Test("SIGHUP after the stop does no harm")
    func stopped() throws {
        describe([("out", file("out"))])
        let gateway = try gateway()
        gateway.stop(within: .zero)
        describe([("new", file("new"))])
        gateway.reread()
        #expect(gateway.report.destinations.map(\.name) == ["out"])
    }
}
