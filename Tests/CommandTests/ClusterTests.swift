import Foundation
import System
import TestNATS
import TestSupport
import Testing

/// Gateways of one cluster, each on a machine of its own. One broker has the only copy here;
/// `Scripts/prove cluster` has three.
@Suite(.timeLimit(.minutes(10))) final class ClusterTests {
    private static let token = "0123456789abcdef0123456789abcdef"
    private static let key = String(repeating: "0123456789abcdef", count: 4)

    private let broker = Broker()
    private let scratch = TemporaryDirectory()
    private let sandbox: RunningSandbox

    init() throws {
        sandbox = try RunningSandbox()
        try broker.start()
    }

    private struct Running {
        let program: Program
        let devices: TestConnection
        let adminPort: UInt16

        func admin(_ method: String, _ path: String, _ body: String = "") throws -> (
            status: Int, text: String
        ) {
            try Self.ask(adminPort, method, path, body)
        }

        static func ask(_ port: UInt16, _ method: String, _ path: String, _ body: String = "")
            throws -> (status: Int, text: String)
        {
            let answer = try TestConnection(port: port).request(
                method,
                path,
                fields: [
                    "Authorization: Bearer \(ClusterTests.token)", "Content-Type: application/json",
                ],
                body: body
            )
            return try #require(answer.map { ($0.status, $0.text) })
        }

        /// Waits until a page of the admin listener says so.
        func eventually(_ path: String, _ isSo: (String) -> Bool) -> Bool {
            TestSupport.eventually(within: .seconds(60)) {
                ((try? admin("GET", path).text).map(isSo)) ?? false
            }
        }
    }

    /// Writes a configuration.
    private func configuration(_ node: String, key: String? = key) -> String {
        var text = sandbox.configuration(dataDirectory: "\(scratch.path)/\(node)")
            .replacing(
                #"admin: { listen: "127.0.0.1:0" }"#,
                with: #"admin: { listen: "127.0.0.1:0", token: \#(Self.token) }"#
            )
        if let key { text += "\ncredentials: { encryption_key: \"\(key)\" }" }
        text += """

            queue:
              engine: jetstream
              max_bytes: 64MiB
              commit_wait: 3s
              jetstream: { servers: ["\(broker.address)"], node: \(node), replicas: 1 }
            """
        return scratch.file("\(node).yaml", text)
    }

    private func start(_ node: String, key: String? = key) throws -> Running {
        let (program, ports) = try Program.serving(configuration(node, key: key))
        return Running(
            program: program,
            devices: try TestConnection(port: ports.devices),
            adminPort: ports.admin
        )
    }

    private func post(_ numbers: some Sequence<Int>, to gateway: Running) {
        for number in numbers {
            let body = #"{"a":"\#(number)"}"#
            #expect(gateway.devices.request("POST", "/logs/lost", body: body)?.status == 200)
        }
    }

    private func push(to gateway: Running) throws -> (status: Int, text: String) {
        let key = #"{"access_key_id":"test-id","access_key_secret":"test-secret"}"#
        return try gateway.admin("PUT", "/admin/credentials/default?force=true", key)
    }

    private func stop(_ gateways: Running...) {
        for gateway in gateways {
            #expect(gateway.program.stopped().exitCode == 0)
        }
    }

    @Test("Another gateway delivers the logs of one that is lost with its disk")
    func adoption() throws {
        #expect(sandbox.control("POST", "/faults", #"{"status":503,"code":"ServerBusy"}"#) == 200)
        let (lost, heir) = (try start("one"), try start("two"))
        post(0..<20, to: lost)
        lost.program.killed()
        #expect(sandbox.control("DELETE", "/faults") == 200)
        post(20..<25, to: heir)
        #expect(heir.program.errors.next(containing: ["shard adopted"]) != nil)
        #expect(heir.program.errors.next(containing: ["emptied shard absorbed"]) != nil)
        #expect(sandbox.received(field: "a").map { Int($0) ?? -1 }.sorted() == Array(0..<25))
        #expect(
            heir.eventually("/admin/status") { status in
                status.contains(#""adoptions":1"#) && status.contains(#""cluster_shards":1"#)
            }
        )
        let third = try start("three")
        #expect(
            third.eventually("/admin/status") { status in
                status.contains(#""node":"two""#) && status.contains(#""accepted":25"#)
            }
        )
        stop(third)
        let metrics = try heir.admin("GET", "/metrics").text
        #expect(metrics.contains("sluice_fleet_absorptions_total 1"))
        #expect(metrics.contains(#"role="home""#))
        stop(heir)
    }

    @Test("Dead letters of a lost gateway are told as missing until another one has them")
    func lettersOfLost() throws {
        let fault = #"{"status":400,"code":"PostBodyInvalid"}"#
        #expect(sandbox.control("POST", "/faults", fault) == 200)
        let (lost, heir) = (try start("one"), try start("two"))
        post(0..<3, to: lost)
        let path = "/admin/dead-letters"
        func letters(_ text: String) -> Int { text.matches(of: /"id":"/).count }
        #expect(heir.eventually(path) { letters($0) == 3 && $0.contains(#""missing":[]"#) })
        let letter = try #require(
            try heir.admin("GET", path).text.firstMatch(of: /"id":"([^"]+)"/)?.1
        )
        lost.program.killed()
        var (missing, refusals): (Set<String>, Set<String>) = ([], [])
        let isWhole = eventually(within: .seconds(60)) {
            let text = (try? heir.admin("GET", path).text) ?? ""
            guard letters(text) < 3 else { return true }
            missing.insert(String(text.firstMatch(of: /"missing":\[([^\]]*)\]/)?.1 ?? ""))
            let one = try? heir.admin("GET", "\(path)/\(letter)")
            // By now it may be adopted, or even absorbed.
            if let one, ![200, 404].contains(one.status) { refusals.insert(one.text) }
            return false
        }
        #expect(isWhole)
        #expect(!missing.contains(""))
        #expect(missing.contains("\"one\""))
        // Once it is taken for dead, its shard is named for as long as a heir takes to begin.
        #expect(missing.allSatisfy { $0 == "\"one\"" || $0.hasPrefix("\"one~") }, "\(missing)")
        #expect(!refusals.isEmpty && refusals.allSatisfy { $0.contains("; try again") })
        stop(heir)
    }

    @Test("A check names the gateways that live, a second one of a name, and another cluster's")
    func neighbours() throws {
        func check(_ node: String, key: String = Self.key) throws -> (exitCode: Int32, text: String)
        {
            let file = configuration(node, key: key)
            let end = try Program(["check", "--config", file], environment: RunningSandbox.keys)
                .finished()
            return (end.exitCode, end.output + end.errors)
        }
        let empty = try check("one")
        #expect(empty.exitCode == 0 && empty.text.contains("no other gateway answers"), "\(empty)")
        let (one, two) = (try start("one"), try start("two"))
        let third = try check("three")
        #expect(
            third.exitCode == 0 && third.text.contains("2 other gateways: one, two"),
            "\(third)"
        )
        let second = try check("two")
        #expect(second.exitCode == 0 && second.text.contains("a gateway two runs"), "\(second)")
        let foreign = try check("four", key: String(repeating: "ab", count: 32))
        #expect(foreign.exitCode == 1, "\(foreign)")
        #expect(
            foreign.text.contains("is of another cluster with the same name")
                && foreign.text.contains("it has another credentials.encryption_key"),
            "\(foreign)"
        )
        stop(one, two)
        #expect(try check("one").text.contains("no other gateway answers"))
    }

    @Test("Dead letters and waiting logs of all gateways are seen and changed at any of them")
    func operators() throws {
        let fault = #"{"status":400,"code":"PostBodyInvalid"}"#
        #expect(sandbox.control("POST", "/faults", fault) == 200)
        let gateways = [try start("one"), try start("two")]
        let (one, two) = (gateways[0], gateways[1])
        for gateway in gateways {
            #expect(gateway.eventually("/admin/status") { $0.contains(#""alive":true"#) })
        }
        post(0..<2, to: one)
        post(2..<5, to: two)
        let path = "/admin/dead-letters"
        #expect(one.eventually(path) { $0.contains(#""letters":5,"#) })
        let all = try two.admin("GET", path).text
        #expect(all.contains(#""letters":5,"#) && all.contains(#""missing":[]"#), "\(all)")
        let ids = all.matches(of: /"id":"([^"]+)"/).map { String($0.1) }
        #expect(ids.count == 5 && Set(ids).count == 5, "\(ids)")
        let shards = ids.map { $0.prefix(3) }
        #expect(shards == shards.sorted())
        #expect(ids.count { $0.hasPrefix("one~") } == 2)
        // Both may ask each other at the same moment.
        let incomplete = SharedValue(0)
        let askers = try gateways.map(\.adminPort).map { port in
            try Worker("asker") {
                for _ in 0..<20 {
                    let text = (try? Running.ask(port, "GET", path).text) ?? ""
                    if !text.contains(#""missing":[]"#) { incomplete.change { $0 += 1 } }
                }
            }
        }
        for asker in askers { asker.join() }
        #expect(incomplete.now == 0)
        // In pages, each behind the one before.
        var (paged, after) = ([String](), "")
        repeat {
            let page = try one.admin("GET", "\(path)?limit=2\(after)").text
            paged += page.matches(of: /"id":"([^"]+)"/).map { String($0.1) }
            after = page.firstMatch(of: /"next":"([^"]+)"/).map { "&after=\($0.1)" } ?? ""
        } while !after.isEmpty
        #expect(paged == ids)
        #expect(
            try one.admin("GET", "\(path)/export").text.split(separator: "\n").count == 5
        )
        // A change goes to the gateway that has the letter.
        let mine = try #require(ids.first { $0.hasPrefix("one~") })
        let shown = try two.admin("GET", "\(path)/\(mine)").text
        #expect(shown.contains(/"a":"[01]"/), "\(shown)")
        let edited = try two.admin("PUT", "\(path)/\(mine)", #"{"a":"77"}"#)
        #expect(edited.status == 200 && edited.text.contains(#""a":"77""#), "\(edited.text)")
        #expect(try one.admin("GET", "\(path)/one~00000000-1").status == 404)
        #expect(sandbox.control("DELETE", "/faults") == 200)
        let chosen = [mine, try #require(ids.last)].joined(separator: ",")
        let replayed = try two.admin("POST", "\(path)/replay?ids=\(chosen)")
        #expect(replayed.text == #"{"replayed":2,"unreadable":0}"# + "\n", "\(replayed.text)")
        let purged = try one.admin("POST", "\(path)/purge?all=true")
        #expect(purged.text == #"{"purged":3,"unreadable":0}"# + "\n", "\(purged.text)")
        #expect(
            eventually(within: .seconds(20)) {
                let arrived = Set(sandbox.received(field: "a"))
                return arrived.count == 2 && arrived.contains("77")
            }
        )
        #expect(
            two.eventually("/admin/audit") { audit in
                audit.matches(of: /"action":"(edit|replay|purge)"/).count == 5
            }
        )
        #expect(try one.admin("POST", "/admin/destinations/app/pause").status == 200)
        #expect(two.eventually("/admin/destinations") { $0.contains(#""paused":true"#) })
        post(10..<13, to: two)
        #expect(
            one.eventually("/admin/queue") { queue in
                queue.contains(#""other_gateways":{"two":{"queued_logs":"#)
                    && queue.contains(#""queued_logs":3"#)
            }
        )
        let peek = try one.admin("GET", "/admin/queue/peek?destination=app").text
        #expect(
            peek.contains(#""other_gateways":{"two":{"logs":[{"#) && peek.contains(#""a":"12""#)
        )
        // One that does not answer is named.
        two.program.signal(SIGSTOP)
        // It may answer some more before it stands still.
        #expect(one.eventually(path) { $0.contains(#""missing":["two"]"#) })
        let refused = try one.admin("POST", "\(path)/purge?all=true")
        #expect(refused.status == 503 && refused.text.contains("two did not answer"))
        two.program.signal(SIGCONT)
        stop(one, two)
    }

    @Test("A request that is repeated to another gateway is stored once")
    func repeats() throws {
        let (one, two) = (try start("one"), try start("two"))
        for gateway in [one, two] {
            #expect(gateway.eventually("/admin/status") { $0.contains(#""alive":true"#) })
        }
        let fields = ["x-log-bulk-id: 1", "idempotency-key: 0123456789abcdef"]
        func post(_ gateway: Running) -> (status: Int, receipt: String?)? {
            gateway.devices.request("POST", "/logs/lost", fields: fields, body: #"{"a":"1"}"#)
                .map { ($0.status, $0["x-log-requestid"]) }
        }
        let first = try #require(post(one))
        #expect(first.status == 200)
        #expect(two.eventually("/admin/status") { $0.contains(#""known_repeats":1"#) })
        let second = try #require(post(two))
        #expect(second.status == 200 && second.receipt == first.receipt)
        #expect(
            try two.admin("GET", "/metrics").text.contains(
                "sluice_fleet_recognised_repeats_total 1"
            )
        )
        stop(one, two)
        #expect(sandbox.received(field: "a") == ["1"])
    }

    @Test("What an operator decides at one gateway counts at the others, with one audit log")
    func decisions() throws {
        let (one, two) = (try start("one"), try start("two"))
        #expect(try one.admin("POST", "/admin/destinations/app/pause").status == 200)
        #expect(
            two.eventually("/admin/destinations") { $0.contains(#""paused":true"#) }
        )
        post(0..<3, to: two)
        let patch = try two.admin("PATCH", "/admin/destinations/app", #"{"packet":{"age":"70ms"}}"#)
        #expect(patch.status == 200, "\(patch.text)")
        #expect(one.eventually("/admin/destinations/app") { $0.contains("70ms") })
        let pushed = try push(to: one)
        #expect(pushed.status == 200, "\(pushed.text)")
        #expect(
            two.program.errors.next(containing: ["credential rotated at another gateway"]) != nil
        )
        #expect(try two.admin("GET", "/admin/credentials").text.contains(#""pushed":true"#))
        #expect(!(try two.admin("GET", "/admin/audit").text.contains("test-secret")))
        #expect(try one.admin("POST", "/admin/destinations/app/resume").status == 200)
        #expect(eventually { sandbox.received(field: "a").count == 3 })
        #expect(
            two.eventually("/admin/audit") { audit in
                audit.contains("pause") && audit.contains("resume")
                    && audit.contains(#""node":"one""#)
                    && audit.contains(#""node":"two""#)
            }
        )
        // News of others tell a gateway nothing about what it has decided itself.
        let last = try two.admin("PATCH", "/admin/destinations/app", #"{"packet":{"age":"80ms"}}"#)
        #expect(last.status == 200, "\(last.text)")
        #expect(one.eventually("/admin/destinations/app") { $0.contains("80ms") })
        // A gateway that comes later has all of it.
        let three = try start("three")
        #expect(try three.admin("GET", "/admin/destinations/app").text.contains("80ms"))
        #expect(try three.admin("GET", "/admin/credentials").text.contains(#""pushed":true"#))
        stop(two, three)
        one.program.signal(SIGTERM)
        #expect(!one.program.finished().errors.contains("rotated at another gateway"))
    }

    @Test("A credential that is forgotten at another gateway is used no more where it was pushed")
    func forgotten() throws {
        let (one, two) = (try start("one"), try start("two"))
        let pushed = try push(to: one)
        #expect(pushed.status == 200, "\(pushed.text)")
        #expect(two.eventually("/admin/credentials") { $0.contains(#""pushed":true"#) })
        #expect(try two.admin("DELETE", "/admin/credentials/default").status == 200)
        #expect(
            one.program.errors.next(containing: ["credential forgotten at another gateway"]) != nil
        )
        #expect(!(try one.admin("GET", "/admin/credentials").text.contains(#""pushed":true"#)))
        stop(one, two)
    }

    @Test("Without a key that seals it, no credential goes to the other gateways")
    func withoutKey() throws {
        let one = try start("one", key: nil)
        let pushed = try push(to: one)
        #expect(pushed.status == 409 && pushed.text.contains("encryption_key"), "\(pushed.text)")
        stop(one)
    }

    @Test("A gateway without its brokers is not ready, and says why")
    func readiness() throws {
        let one = try start("one")
        #expect(try one.admin("GET", "/readyz").status == 200)
        broker.kill()
        #expect(one.eventually("/readyz") { $0.contains("the cluster cannot be reached") })
        try broker.start()
        #expect(one.eventually("/readyz") { !$0.contains("cluster") })
        stop(one)
    }
}
