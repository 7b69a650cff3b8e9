import Configuration
import Crypto
import Foundation
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery
@testable import HTTPClient

/// Packets to an HTTP server that takes JSON.
@Suite(.timeLimit(.minutes(10))) struct HTTPDeliveryTests {
    private static let secret = "canary-of-a-header"
    private static let query = "canary-of-a-query"

    private let source = MemorySource()

    private func rig(
        _ server: ScriptedServer,
        adjusting: (inout Destination) -> Void = { _ in }
    ) throws -> Rig {
        let place = "http://127.0.0.1:\(server.port)"
        var target = try Samples.httpTarget("\(place)/in?key=\(Self.query)", at: place)
        target.headers = [.init(name: "authorization", value: Secret("Bearer \(Self.secret)"))]
        return try Rig(source, server, credential: nil, compression: .none) {
            $0.kind = .http
            $0.http = target
            adjusting(&$0)
        }
    }

    private static func reply(_ status: Int, _ headers: String = "", _ body: String = "")
        -> ScriptedServer.Reply
    {
        .text(
            "HTTP/1.1 \(status) X\r\n\(headers)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
    }

    private static func logs(_ body: [UInt8]) throws -> [[String: String]] {
        try #require(JSONSerialization.jsonObject(with: Data(body)) as? [[String: String]])
    }

    @Test(
        "A packet is posted as JSON with its id, and no credential is needed",
        arguments: [200, 201, 202, 204]
    )
    func posts(status: Int) throws {
        let rig = try rig(ScriptedServer { _, _ in Self.reply(status) })
        source.offer(1, logs: [Samples.log("one"), Samples.log("two")])
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let request = try #require(rig.server.requests.now.first)
        #expect(request.head.hasPrefix("POST /in?key=\(Self.query) HTTP/1.1\r\n"))
        #expect(request.header("idempotency-key") == "0123456789ABCDEF-1")
        #expect(request.header("content-type") == "application/json")
        #expect(request.header("authorization") == "Bearer \(Self.secret)")
        #expect(request.header("user-agent") == "sluice/test")
        #expect(request.header("content-encoding") == nil)
        let logs = try Self.logs(request.body)
        #expect(logs.map { $0["k"] } == ["one", "two"])
        #expect(logs.allSatisfy { $0["tag"] == "t" && $0["date"]?.hasSuffix("Z") == true })
        #expect(rig.status.answers == ["OK": 1])
        #expect(rig.status.sentLogs == 2)
    }

    @Test("A log a line, in groups, compressed")
    func forms() throws {
        let server = try ScriptedServer { _, _ in Self.reply(200) }
        let rig = try rig(server) {
            $0.http.body = .lines
            $0.shape = .nested
            $0.transfer.compression = .gzip
        }
        source.offer(1, logs: [Samples.log("one")])
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        let request = try #require(server.requests.now.first)
        #expect(request.header("content-type") == "application/x-ndjson")
        #expect(request.header("content-encoding") == "gzip")
        #expect(request.body.starts(with: [0x1F, 0x8B]))
    }

    @Test(
        "What may pass is tried again: the same body under the same key",
        arguments: [408, 425, 429, 500, 502, 503, 0]
    )
    func again(status: Int) throws {
        let server = try ScriptedServer { _, number in
            number > 1 ? Self.reply(200) : status == 0 ? .hangUp : Self.reply(status)
        }
        let rig = try rig(server)
        #expect(source.offerAndWait(1))
        rig.stop()
        let requests = server.requests.now
        #expect(requests.count >= 3)
        #expect(Set(requests.map(\.body)).count == 1)
        #expect(Set(requests.map { $0.header("idempotency-key") }).count == 1)
        let kind: DeliveryFailure.Kind = status == 0 ? .network : status == 429 ? .quota : .server
        #expect(rig.status.failures[kind] != nil)
    }

    @Test("A 429 without Retry-After slows down more with each, and all is stored in the end")
    func slowsDown() throws {
        let times = SharedValue<[Moment]>([])
        let server = try ScriptedServer { _, number in
            times.change { $0.append(.now) }
            return Self.reply(number < 4 ? 429 : 200)
        }
        let rig = try rig(server) {
            $0.transfer.concurrency = 1
        }
        for number in 1...6 { source.offer(Int64(number), logs: [Samples.log("\(number)")]) }
        #expect(source.state.wait { $0.acknowledged.count == 6 })
        rig.stop()
        #expect(source.state.now.dead.isEmpty)
        #expect(rig.status.failures[.quota] == 4)
        #expect(rig.status.lastFailure?.code == "HTTP429")
        let seen = times.now
        try #require(seen.count >= 5)
        #expect(seen[4] - seen[3] > (seen[1] - seen[0]) * 2)
    }

    @Test("Retry-After is honoured", arguments: [429, 503])
    func retryAfter(status: Int) throws {
        let server = try ScriptedServer { _, number in
            number == 0 ? Self.reply(status, "Retry-After: 1\r\n") : Self.reply(200)
        }
        let rig = try rig(server)
        let start = Moment.now
        #expect(source.offerAndWait(1))
        #expect(Moment.now - start >= .milliseconds(990))
        rig.stop()
    }

    @Test(
        "A packet that is refused is taken apart to the log at fault",
        arguments: [400, 413, 422]
    )
    func split(status: Int) throws {
        let server = try ScriptedServer { request, _ in
            String(decoding: request.body, as: UTF8.self).contains("bad")
                ? Self.reply(status, "", #"{"error":"no bad logs"}"#) : Self.reply(200)
        }
        let rig = try rig(server)
        source.offer(1, logs: ["a", "b", "bad", "c"].map(Samples.log))
        #expect(source.state.wait { $0.unsettled.isEmpty && !$0.dead.isEmpty })
        rig.stop()
        let dead = source.state.now.dead
        #expect(dead.map(\.log) == [Samples.log("bad")])
        #expect(dead.first?.reason.status == status)
        #expect(dead.first?.reason.message.contains("no bad logs") == true)
        let stored = try server.requests.now.map(\.body).map(Self.logs)
            .filter { logs in !logs.contains { $0["k"] == "bad" } }.joined()
        #expect(Set(stored.compactMap { $0["k"] }) == ["a", "b", "c"])
    }

    @Test(
        "A refusal of the whole destination pauses it with a reason, and is probed",
        arguments: [
            (401, "unauthorized"), (403, "unauthorized"), (404, "not_found"), (302, "request"),
            (415, "request"),
        ]
    )
    func pauses(status: Int, kind: String) throws {
        let refuses = SharedValue(true)
        let server = try ScriptedServer { _, _ in
            refuses.now
                ? Self.reply(status, "Location: http://127.0.0.1:1/x?token=\(Self.query)\r\n")
                : Self.reply(200)
        }
        let rig = try rig(server)
        source.offer(1)
        #expect(rig.recorder.lines.wait { $0.contains { $0.contains("destination is paused") } })
        let isPaused = eventually {
            if case .paused(let reason, _) = rig.status.state {
                reason.contains("HTTP\(status)")
            } else {
                false
            }
        }
        #expect(isPaused)
        #expect(rig.status.lastFailure?.kind.rawValue == kind)
        if status == 302 {
            #expect(rig.status.lastFailure?.remedy.hasSuffix("leads to http://127.0.0.1:1") == true)
        }
        #expect(server.requests.wait { $0.count >= 3 })
        refuses.change { $0 = false }
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
        #expect(source.state.now.isolated.isEmpty)
    }

    @Test("Only the statuses in success say that logs are stored")
    func success() throws {
        let server = try ScriptedServer { _, number in Self.reply(number == 0 ? 202 : 201) }
        let rig = try rig(server) { $0.http.successes = [200, 201] }
        #expect(source.offerAndWait(1))
        rig.stop()
        #expect(rig.status.failures == [.request: 1])
        #expect(rig.status.unknownOutcomes == 1)
    }

    @Test("What a server echoes of the secrets is blotted out")
    func secrets() throws {
        let echo =
            "you sent Bearer \(Self.secret), that is \(Self.secret), to /in?key=\(Self.query)"
        let server = try ScriptedServer { _, number in
            number == 0 ? Self.reply(401, "", echo) : Self.reply(200)
        }
        let rig = try rig(server)
        #expect(source.offerAndWait(1))
        rig.stop()
        let told = rig.recorder.lines.now.joined() + "\(rig.status)"
        #expect(rig.status.lastFailure?.message.contains("you sent") == true)
        #expect(!told.contains(Self.secret) && !told.contains(Self.query))
    }

    @Test("A secret in the path is blotted out, also behind a port that need not be named")
    func pathWithUsualPort() throws {
        for url in ["https://h.example:443/in/token-5", "https://h.example/in/token-5"] {
            let judge = HTTPJudge(try Samples.httpTarget(url, at: "https://h.example"))
            let head = TransferResponse.Head(status: 404, headers: [])
            let response = TransferResponse(
                head: head,
                route: .unknown,
                body: Array("no /in/token-5 here".utf8)
            )
            #expect(judge.judge(response).message == "no ••• here")
        }
    }

    @Test(
        "Nor does a part of the url or of a header show that a server repeats alone",
        arguments: [
            "the hook B0123456789abcd", "key=to+ken/1", "user s3cret:word", "s3cret:word",
            "no such token: t0k3n-of-x", "auth dXNlcjpzM2NyZXQ6d29yZA",
        ]
    )
    func parts(said: String) throws {
        let url = "https://h.example/services/B0123456789abcd?key=to%2Bken%2F1"
        var target = try Samples.httpTarget(url, at: "https://h.example")
        target.headers = [
            .init(name: "authorization", value: Secret("Basic dXNlcjpzM2NyZXQ6d29yZA==")),
            .init(name: "x-auth", value: Secret("Token token=t0k3n-of-x")),
        ]
        let response = TransferResponse(
            head: TransferResponse.Head(status: 401, headers: []),
            route: .unknown,
            body: Array(said.utf8)
        )
        let told = HTTPJudge(target).judge(response).message
        for secret in ["B0123", "to+ken/1", "s3cret", "word", "t0k3n", "cjpzM2NyZXQ"] {
            #expect(!told.contains(secret), "\(told)")
        }
    }

    @Test("After the last try the packet rests, and a new packet is worth another one")
    func rests() throws {
        let works = SharedValue(false)
        let server = try ScriptedServer { _, _ in Self.reply(works.now ? 200 : 500) }
        let rig = try rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(10), longest: .seconds(3600), times: 2)
        }
        source.offer(1)
        #expect(server.requests.wait { $0.count == 3 })
        #expect(eventually { rig.status.outlets.first?.failures.values.reduce(0, +) == 3 })
        works.change { $0 = true }
        // A packet that came while it rests ends the rest, and both are stored.
        source.offer(2)
        #expect(source.state.wait { Set($0.acknowledged) == [1, 2] })
        rig.stop()
    }

    @Test("Its kind has no project, under other settings neither")
    func noProject() throws {
        let server = try ScriptedServer { _, _ in Self.reply(200) }
        let rig = try rig(server)
        #expect(rig.status.project == nil)
        let place = "http://127.0.0.1:\(server.port)"
        var settings = Destination(name: "app", kind: .http)
        settings.http = try Samples.httpTarget("\(place)/other", at: place)
        try rig.forwarder.use([settings])
        #expect(source.offerAndWait(1))
        rig.stop()
        #expect(server.requests.now.first?.head.hasPrefix("POST /other") == true)
        #expect(rig.status.project == nil)
    }

    @Test("Resume and flush end the rest", arguments: [Forwarder.tryAgain, Forwarder.endRest])
    func ended(by end: @Sendable (Forwarder) -> (Set<String>) -> Void) throws {
        let works = SharedValue(false)
        let server = try ScriptedServer { _, _ in Self.reply(works.now ? 200 : 500) }
        let rig = try rig(server) {
            $0.transfer.retry = Backoff(first: .milliseconds(10), longest: .seconds(3600), times: 1)
        }
        source.offer(1)
        #expect(server.requests.wait { $0.count == 2 })
        #expect(eventually { rig.status.outlets.first?.failures.values.reduce(0, +) == 2 })
        works.change { $0 = true }
        end(rig.forwarder)(["app"])
        #expect(source.state.wait { $0.acknowledged == [1] })
        rig.stop()
    }
}
