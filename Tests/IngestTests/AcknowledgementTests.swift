import Configuration
import HTTP
import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

/// Splunk's `useACK`: a client with a channel asks later whether its events are safe.
@Suite(.timeLimit(.minutes(10))) struct AcknowledgementTests {
    private static let key = "splunk-0123456789abcdef"
    private static let collector = "/services/collector"
    private static let channel: KeyValuePairs = [
        "x-splunk-request-channel": "00872DC6-AC83-4EDE-8AFE-8413C3825C4C"
    ]
    private static let event = Array(#"{"event":1}"#.utf8)

    /// The `ackId` of an answer.
    private func id(of answer: TestAnswer) throws -> UInt64 {
        let start = #"{"text":"Success","code":0,"ackId":"#
        #expect(answer.status == 200 && answer.text.hasPrefix(start), "\(answer.text)")
        return try #require(UInt64(answer.text.dropFirst(start.count).dropLast()))
    }

    private func ask(_ ids: [UInt64], _ end: DeviceListener) throws -> TestAnswer {
        let list = ids.map(String.init).joined(separator: ",")
        return try end.client.post(
            "\(Self.collector)/ack",
            #"{"acks":[\#(list)]}"#.utf8,
            Self.channel
        )
    }

    @Test("Each answer on a channel has an id of its own, and each id that was issued is safe")
    func issued() throws {
        let end = try DeviceListener()
        let first = try id(of: end.client.post(Self.collector, Self.event, Self.channel))
        let second = try id(of: end.client.post("\(Self.collector)?channel=c", Self.event))
        let lines = try end.client.post("\(Self.collector)/raw?channel=c", "a".utf8)
        let third = try id(of: lines)
        #expect(first < second && second < third)
        let answer = try ask([first, third, first], end)
        #expect(answer.status == 200 && answer["content-type"] == "application/json")
        #expect(answer.text == #"{"acks":{"\#(first)":true,"\#(third)":true}}"#)
        #expect(try ask([], end).text == #"{"acks":{}}"#)
        #expect(end.queue.stored.count == 3)
        // A channel is what asks for it.
        let plain = try end.client.post(Self.collector, Self.event)
        #expect(plain.text == #"{"text":"Success","code":0}"#)
    }

    /// Splunk counts from zero on each channel: a client that is moved here with ids of Splunk's
    /// sends these events again.
    @Test("Ids of another server are not confirmed")
    func foreign() throws {
        let end = try DeviceListener()
        let answer = try ask([0, 7, 1_767_225_599_999_999, .max], end)
        #expect(
            answer.text
                == #"{"acks":{"0":false,"7":false,"1767225599999999":false,"18446744073709551615":false}}"#
        )
    }

    @Test("Ids may be written as any whole number of JSON")
    func numbers() throws {
        let end = try DeviceListener()
        func ask(_ ids: String) throws -> TestAnswer {
            let body = Array(#"{"acks":[\#(ids)]}"#.utf8)
            return try end.client.post("\(Self.collector)/ack", body, Self.channel)
        }
        #expect(try ask("7.0,1e3").text == #"{"acks":{"7":false,"1000":false}}"#)
        for id in ["7.5", "-1", "1e20", #""7""#] { #expect(try ask(id).status == 400, "\(id)") }
    }

    @Test("Ids go on over a clock that stands still, goes back or was never set")
    func clocks() {
        let ids = [WallTime.now, .now, WallTime(seconds: 0), WallTime(seconds: -5), .now].map {
            AcknowledgementID.next(at: $0)
        }
        #expect(Set(ids.map(\.number)).count == ids.count)
        #expect(ids.map(\.number) == ids.map(\.number).sorted())
        #expect(ids.filter { !$0.isIssued }.isEmpty)
    }

    @Test("What is not stored has no id")
    func refused() throws {
        let end = try DeviceListener()
        end.queue.outcome.withLock { $0 = .refused(.full) }
        let answer = try end.client.post(Self.collector, Self.event, Self.channel)
        #expect(answer.status == 503 && !answer.text.contains("ackId"))
        // Who was told an id before hears of it all the same.
        end.queue.say(.full)
        end.shared.intake.turn(off: true)
        let number = AcknowledgementID.next().number
        #expect(try ask([number], end).text == #"{"acks":{"\#(number)":true}}"#)
    }

    @Test("A small question cannot become an enormous answer")
    func bounded() throws {
        let end = try DeviceListener()
        let answer = try ask((0..<70_000).map { $0 }, end)
        #expect(answer.status == 200)
        #expect(answer.text.ranges(of: "false").count == 65_536)
        let tight = try DeviceListener { $0.http.answerBytes = 64 << 10 }
        let brief = try ask((0..<70_000).map { .max - $0 }, tight)
        #expect(brief.status == 200 && brief.body.count <= 64 << 10)
        #expect(brief.text.ranges(of: "false").count == 2259)
    }

    @Test("A key is needed to ask, whatever destinations it is for; it may be a token in the query")
    func keys() throws {
        let end = try DeviceListener(
            keys: "{ name: agent, key: '\(Self.key)', destinations: [any] }"
        )
        #expect(try ask([1], end).status == 401)
        let path = "\(Self.collector)/ack?channel=c"
        let body = Array(#"{"acks":[1]}"#.utf8)
        let known: KeyValuePairs = ["authorization": "Splunk \(Self.key)"]
        #expect(try end.client.post(path, body, known).text == #"{"acks":{"1":false}}"#)
        let token = "token=\(Self.key)"
        #expect(try end.client.post("\(path)&\(token)", body).status == 200)
        let other: KeyValuePairs = ["x-log-project": "other-project"]
        for path in [
            "\(Self.collector)?\(token)", "\(Self.collector)/event?channel=c&\(token)",
            "\(Self.collector)?token=\(Self.key.replacing("-", with: "%2D"))",
        ] {
            #expect(try end.client.post(path, Self.event, other).status == 200)
        }
        let raw = try end.client.post("\(Self.collector)/raw?\(token)&host=h", "a".utf8, other)
        #expect(raw.status == 200)
        let stored = try #require(end.queue.stored.last)
        #expect(!"\(stored.stream.trailer) \(try stored.entries())".contains(Self.key))
        let wrong = try end.client.post("\(Self.collector)?token=nope", Self.event, other)
        #expect(wrong.status == 403 && wrong.text.contains(#""code":4"#))
        // Elsewhere a token is none of the key's business.
        let track = "/logstores/app-log/track?\(token)"
        #expect(try end.client.get(track, other).status == 401)
    }
}
