import Configuration
import Foundation
import HTTP
import Logs
import Queue
import Rendering
import SLS
import System
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite(.timeLimit(.minutes(10))) struct QueueDeskTests {
    /// A gateway whose logs stay.
    private func trial() throws -> SandboxedGateway {
        let nowhere = try Endpoint(parsing: "http://localhost:1")
        return try SandboxedGateway { $0.destinations[0].endpoints = [nowhere] }
    }

    private func post(_ trial: SandboxedGateway, _ tag: String, _ body: String) throws {
        let answer = try trial.devices.post("/logstores/\(tag)/track", body.utf8)
        #expect(answer.status == 200, "\(answer.text)")
    }

    private func destination(_ trial: SandboxedGateway, _ query: String = "") throws
        -> [String: Any]
    {
        let document = try trial.object("/admin/queue\(query)")
        let destinations = document["destinations"] as? [String: [String: Any]]
        return try #require(destinations?["default"])
    }

    private func text(_ trial: SandboxedGateway, _ query: String = "") throws -> String {
        try trial.admin("/admin/queue\(query)").shown(.queue)
    }

    @Test("Gateways that are asked together share a bound, and count the streams beyond it")
    func shares() throws {
        #expect(QueueView.share(of: 4) == 1 << 20)
        let trailer = GroupTrailer(topic: String(repeating: "t", count: 200), tags: [])
        let entries = (0..<100).map { number in
            StreamListing.Entry(
                stream: StreamKey(destination: "default", logstore: "l\(number)", trailer: trailer),
                logs: 1,
                rawBytes: 1,
                packets: 0,
                oldest: .now
            )
        }
        let view = QueueView(
            report: try trial().gateway.report,
            destination: nil,
            listing: StreamListing(["default": .init(entries: entries)]),
            bytesMax: 4000
        )
        let body = Response.json(200, view.write).body
        let document = String(decoding: body, as: UTF8.self)
        #expect(body.count < 8000, "\(document)")
        #expect(document.firstMatch(of: /"streams_more":[89][0-9]/) != nil)
        #expect(
            View.queue.text(of: body).firstMatch(
                of: /and [89][0-9] more streams/
            ) != nil
        )
    }

    @Test("Each stream is shown with its name, its logs and its age")
    func streams() throws {
        let trial = try trial()
        let body =
            #"{"__topic__":"night","__source__":"10.0.0.7","__logs__":[{"a":"1"},{"a":"2"}],"#
            + #""__tags__":{"env":"prod"}}"#
        try post(trial, "app-log", body)
        try post(trial, "other", #"{"__logs__":[{"a":"1"}]}"#)
        let streams = try #require(try destination(trial)["streams"] as? [[String: Any]])
        let first = try #require(streams.first)
        #expect(streams.map { $0["logstore"] as? String } == ["app-log", "other"])
        #expect(first["topic"] as? String == "night" && first["source"] as? String == "10.0.0.7")
        #expect(first["tags"] as? [[String: String]] == [["key": "env", "value": "prod"]])
        #expect(first["queued_logs"] as? Int == 2 && (first["raw_bytes"] as? Int ?? 0) > 8)
        #expect(first["oldest_seconds"] is Double && first["tags_more"] as? Int == 0)
        let table = try text(trial)
        #expect(table.contains("app-log topic=night source=10.0.0.7 tags: env=prod\n"), "\(table)")
        #expect(table.hasPrefix("queue        3 logs wait"), "\(table)")
        #expect(table.contains(", 2 streams\n"), "\(table)")
    }

    @Test(
        "Only as many as asked for are shown, and the others counted; none need not be waited for"
    )
    func bounds() throws {
        let trial = try trial()
        for index in 0..<5 {
            let logs = (0...index).map { #"{"a":"\#($0)"}"# }.joined(separator: ",")
            try post(trial, "s\(index)", #"{"__logs__":[\#(logs)]}"#)
        }
        let two = try destination(trial, "?streams=2&order=largest&destination=default")
        let names = (two["streams"] as? [[String: Any]])?.map { $0["logstore"] as? String }
        #expect(names == ["s4", "s3"] && two["streams_more"] as? Int == 3)
        #expect(try text(trial, "?streams=2").contains("  and 3 more streams\n"))
        let none = try destination(trial, "?streams=0")
        #expect(none["streams"] is NSNull && none["streams_more"] is NSNull)
        #expect(none["queued_logs"] as? Int == 15)
    }

    @Test(
        "What cannot be meant is refused",
        arguments: [
            ("streams=1001", 400), ("streams=-1", 400), ("streams=", 400), ("streams=many", 400),
            ("order=newest", 400), ("colour=red", 400), ("streams=1&streams=2", 400),
            ("destination=nobody", 404),
        ]
    )
    func wrong(query: String, status: Int) throws {
        let trial = try trial()
        let answer = try trial.admin("/admin/queue?\(query)")
        #expect(answer.status == status, "\(answer.text)")
    }

    @Test("Control characters in stream names are shown harmlessly")
    func hostile() throws {
        let trial = try trial()
        let long = String(repeating: "x", count: 5000)
        let tags = (0..<100).map { #""t\#($0)":"v""# }.joined(separator: ",")
        let body =
            #"{"__topic__":"\u001b[2J\u202e","__logs__":[{"a":"1"}],"#
            + #""__tags__":{"a\nqueue":"\"},{\u0000","long":"\#(long)",\#(tags)}}"#
        try post(trial, "app-log", body)
        let stream = try #require((try destination(trial)["streams"] as? [[String: Any]])?.first)
        #expect(stream["topic"] as? String == "\u{1b}[2J\u{202e}")
        let shown = try #require(stream["tags"] as? [[String: String]])
        #expect(shown.count == StreamNames.tagsMax && stream["tags_more"] as? Int == 70)
        #expect(shown.allSatisfy { ($0["value"] ?? "").count <= StreamNames.scalarsMax + 1 })
        let raw = try trial.admin("/admin/queue").text
        #expect(!raw.contains("\u{1b}") && !raw.contains("\u{0}"))
        let table = try text(trial)
        #expect(table.split(separator: "\n").count == 4, "\(table)")
        #expect(
            !table.unicodeScalars.contains { $0.value < 0x20 && $0 != "\n" || $0 == "\u{202e}" }
        )
        #expect(
            table.contains(#"topic="\u{1b}[2J\u{202e}" tags: "a\nqueue"="\"},{\u{0}""#),
            "\(table)"
        )
    }

    @Test("Two tags of one name are both shown")
    func twins() {
        let key = StreamKey(
            destination: "d",
            logstore: "l",
            trailer: GroupTrailer(tags: [("a", "1"), ("a", "2")])
        )
        #expect(StreamNames(key).tags.map(\.value) == ["1", "2"])
    }

    @Test("A peek shows the oldest waiting logs and takes none out")
    func peek() throws {
        let trial = try SandboxedGateway()
        let path = "/admin/destinations/default/pause"
        #expect(try trial.admin.ask("POST", path).status == 200)
        for number in 0..<5 {
            let log = #"{"n":"\#(number)"}"#
            #expect(try trial.devices.post("/logs/app", log.utf8).status == 200)
        }
        let all = try trial.admin("/admin/queue/peek?destination=default").text
        for number in 0..<5 { #expect(all.contains(#""n":"\#(number)""#), "\(all)") }
        let two = try trial.admin("/admin/queue/peek?destination=default&logstore=app&limit=2").text
        #expect(two.matches(of: /"n":/).count == 2)
        #expect(two.contains(#""n":"0""#))
        #expect(
            try trial.admin("/admin/queue/peek?destination=default&logstore=x").text.contains(
                #""logs":[]"#
            )
        )
        for wrong in ["", "?destination=none", "?destination=default&limit=0"] {
            #expect(try trial.admin("/admin/queue/peek\(wrong)").status >= 400, "\(wrong)")
        }
        #expect(trial.gateway.report.queue.ledger.queued == 5)
    }

    @Test("A peek at long logs shows their beginnings, and not more than fits together")
    func longLogs() throws {
        let trial = try trial()
        let long = String(repeating: "é", count: 512 << 10)
        for _ in 0..<20 {
            let log = #"{"first":"1","long":"\#(long)"}"#
            #expect(try trial.devices.post("/logs/app", log.utf8).status == 200)
        }
        let answer = try trial.admin("/admin/queue/peek?destination=default&limit=20")
        #expect(answer.status == 200)
        #expect(answer.body.count < 2 * QueuedLog.bytesTogether, "\(answer.body.count)")
        let shown = answer.text.matches(of: /"first":"1","long":"é+… \((\d+) more bytes\)"/)
        #expect((5...20).contains(shown.count), "\(shown.count)")
        let all = "longé".utf8.count + "first1".utf8.count - "é".utf8.count + long.utf8.count
        let kept = try #require(Int(shown[0].1)).distance(to: all)
        #expect((60 << 10...64 << 10).contains(kept), "\(kept)")
    }
}
