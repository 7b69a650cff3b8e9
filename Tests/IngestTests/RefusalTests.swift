import Configuration
import HTTP
import Queue
import System
import TestSupport
import Testing

@testable import Ingest
@testable import Logs

@Suite(.timeLimit(.minutes(10))) struct RefusalTests {
    private let end: DeviceListener

    init() throws { end = try DeviceListener() }

    @Test("Every bad request gets its status and a reason", arguments: BadRequest.table)
    func badRequest(request: BadRequest) throws {
        let answer = try end.client.send(request)
        #expect(answer.status == request.status, "\(answer.text)")
        #expect(answer.text.contains(#"ode":"\#(request.code)""#), "\(answer.text)")
        #expect(answer.text.contains(request.reason), "\(answer.text)")
        #expect(answer["x-log-requestid"]?.utf8.count == 24)
        #expect(answer["x-log-time"] != nil)
        #expect(end.queue.stored.isEmpty)
        if request.path.hasPrefix("/logstores/") {
            #expect(answer.body.count <= 255)
            #expect(answer.text.hasPrefix(#"{"errorCode":""#))
        } else {
            #expect(answer.text.hasPrefix(#"{"error":{"code":""#))
        }
        if request.status == 405 { #expect(answer["allow"] != nil) }
    }

    @Test("Who asks for a path that is none is told all that take logs, whole in SLS's words too")
    func unknownPath() throws {
        for path in ["/nowhere", "/logstores/app-log/shards"] {
            let answer = try end.client.post(path, "{}".utf8)
            for known in [
                "/logs/{tag}", "/logstores/{logstore}/track", "/logstores/{logstore}/shards/lb",
                "/v1/logs", "/_bulk", "/loki/api/v1/push", "/services/collector",
            ] {
                #expect(answer.text.contains(known), "\(answer.text)")
            }
        }
    }

    @Test("A position is told where one is known")
    func position() throws {
        let answer = try end.client.post("/logs/x", #"{"a":1,}"#.utf8)
        #expect(answer.text.contains(#""position":7}"#), "\(answer.text)")
    }

    @Test(
        "A queue that takes nothing is 503, so that every SDK keeps its logs",
        arguments: [QueueAdmission.full, .diskFull, .failing, .stopping]
    )
    func busy(admission: QueueAdmission) throws {
        end.queue.say(admission)
        let plain = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(plain.status == 503)
        #expect(plain["retry-after"] == "1")
        let track = try end.client.post(BadRequest.track, #"{"__logs__":[{"a":"1"}]}"#.utf8)
        #expect(track.status == 503)
        #expect(track["retry-after"] == nil)
        #expect(track.text.hasPrefix(#"{"errorCode":"ServerBusy""#))
    }

    @Test("Logs that only lack memory are 503 in every dialect that reads JSON, and kept")
    func withoutMemory() {
        let fault = LogDecodingError(position: 0, reason: "there is no memory", kind: .noMemory)
        let splunk = SplunkFault(kind: .other, event: 3, cause: fault)
        for refusal in [Refusal(fault), Refusal(splunk), Refusal(InflateError.noMemory)] {
            #expect(refusal.status == 503)
            #expect(refusal.code == "ServerBusy")
        }
        #expect(JSONFault.Reason.noMemory.kind == .noMemory)
    }

    @Test("A full destination refuses before the body, and the others go on")
    func busyDestination() throws {
        end.queue.say(.destinationFull, for: Outlet(destination: "app", logstore: "app-log"))
        let refused = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(refused.status == 503)
        #expect(refused.text.contains("the queue of the destination app is full"))
        #expect(end.queue.identities.isEmpty)
        let other = ["host": "other-project.gateway.test"] as KeyValuePairs
        #expect(try end.client.post("/logs/xx", #"{"a":1}"#.utf8, other).status == 200)

        end.queue.say(.tooManyLogstores, for: Outlet(destination: "any", logstore: "xx"))
        let crowded = try end.client.post("/logs/xx", #"{"a":1}"#.utf8, other)
        #expect(crowded.status == 503)
        #expect(crowded.text.contains("max_logstores"))
    }

    @Test(
        "A queue that refuses with the batch in hand says why, and names a full destination",
        arguments: [
            (QueueAdmission.destinationFull, "the queue of the destination app is full"),
            (.diskFull, "the disk is full"),
        ]
    )
    func refusedLate(admission: QueueAdmission, reason: String) throws {
        end.queue.outcome.withLock { $0 = .refused(admission) }
        let answer = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(answer.status == 503 && answer.text.contains(reason), "\(answer.text)")
    }

    @Test("A drain that begins while a body comes refuses it: whoever drains counts on nothing new")
    func drainedLate() throws {
        let connection = try end.client.opened(
            sending: "POST /logs/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
                + "content-length: 7\r\n\r\n{\"a\""
        )
        #expect(eventually { end.server.counters[.heldBodies] == 7 })
        end.shared.intake.turn(off: true)
        connection.send(":1}")
        let answer = connection.rest()
        #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
        #expect(end.queue.stored.isEmpty)
        #expect(end.shared.intake.arriving == 0)
    }

    @Test("Logs on a bad line are 503, so that their sender keeps them")
    func slowBody() throws {
        let end = try DeviceListener(
            DeviceListener.twoDestinations + "\nlimits: {body_timeout: 1s}\n"
        )
        for path in ["/logs/x", "/logstores/app-log/track", "/v1/logs"] {
            let connection = try end.client.opened(
                sending: "POST \(path) HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\n"
                    + "content-type: application/json\r\n\r\n{"
            )
            let answer = connection.rest()
            #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
        }
    }

    @Test("A head that comes slowly may be that of logs, and its sender keeps them")
    func slowHead() throws {
        let end = try DeviceListener { $0.http.headTime = .milliseconds(200) }
        for head in ["P", "POST /logs/x HTTP/1.1\r\nhost: h\r\n", "GET /nowhere HTTP/1.1\r\n"] {
            let connection = try end.client.opened(sending: head)
            let answer = connection.rest()
            #expect(answer.hasPrefix("HTTP/1.1 503 "), "\(answer)")
            #expect(answer.contains("retry-after: 1\r\n"), "\(answer)")
        }
        #expect(end.server.counters[.headTimeouts] == 3)
    }

    @Test("A bad request leaves the connection as it was")
    func connectionSurvives() throws {
        let bad = "POST /logs/x HTTP/1.1\r\nhost: h\r\ncontent-length: 3\r\n\r\n{a}"
        let good =
            "POST /logs/x HTTP/1.1\r\nhost: h\r\ncontent-length: 7\r\nconnection: close\r\n\r\n{\"a\":1}"
        let answer = try end.client.exchange(Array((bad + good).utf8))
        #expect(answer.status == 400)
        #expect(answer.text.contains("HTTP/1.1 200 OK"))
    }

    @Test("Each of several pipelined answers carries a receipt and the time, once")
    func pipelined() throws {
        let requests =
            "GET /a HTTP/1.1\r\nhost: h\r\n\r\nGET /b HTTP/1.1\r\nhost: h\r\n\r\n"
            + "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n"
        let text = String(decoding: try end.client.converse(Array(requests.utf8)), as: UTF8.self)
        let answers = text.split(separator: "HTTP/1.1 ")
        #expect(answers.map { $0.prefix(3) } == ["404", "404", "200"])
        for answer in answers {
            #expect(answer.ranges(of: "x-log-requestid: ").count == 1, "\(text)")
            #expect(answer.ranges(of: "x-log-time: ").count == 1, "\(text)")
        }
    }

    @Test(
        "A request that takes no body says so when it brings one",
        arguments: ["content-length: 2\r\n\r\n{}", "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"]
    )
    func bodyWithGet(rest: String) throws {
        let head = "GET /healthz HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
        let answer = try end.client.exchange(Array((head + rest).utf8))
        #expect(answer.status == 400)
        #expect(answer.text.contains("takes no body"), "\(answer.text)")
        let empty = try end.client.exchange(Array((head + "content-length: 0\r\n\r\n").utf8))
        #expect(empty.status == 200)
    }

    @Test("A page can read why its request could not be read")
    func malformedFromPage() throws {
        let answer = try end.client.exchange(Array("POST /logs/x HTTP/1.1\r\nbad\r\n\r\n".utf8))
        #expect(answer.status == 400)
        #expect(answer["access-control-allow-origin"] == "*")
    }

    @Test("What the server itself refuses is answered in the client's words")
    func malformed() throws {
        let answer = try end.client.exchange(
            Array(
                "POST /logstores/app-log/track HTTP/1.1\r\nhost: h\r\ncontent-length: -1\r\n\r\n"
                    .utf8
            )
        )
        #expect(answer.status == 400)
        #expect(answer["x-log-requestid"] != nil)
        #expect(answer.text.contains(#"ode":"ParameterInvalid""#))
    }

    @Test("Refusals are counted by route, status and code")
    func counted() throws {
        _ = try end.client.post("/logs/x", "no".utf8)
        _ = try end.client.post("/logs/x", #"{"a":1}"#.utf8)
        #expect(end.shared.counters.refused.map(\.kind.code) == ["PostBodyInvalid"])
        #expect(end.shared.counters.accepted.first { $0.route == "logs" }?.counts[.logs] == 1)
    }

    @Test(
        "A message is cut so that the body is JSON of at most 255 bytes",
        arguments: ["x", "世", "\"", "\u{1}", "😀"]
    )
    func cut(character: String) {
        let body = slsErrorBody(
            code: "PostBodyInvalid",
            message: String(repeating: character, count: 300)
        )
        #expect(body.utf8.count <= 255)
        #expect(body.utf8.count > 240)
        #expect(body.hasSuffix("\"}"))
    }
}
