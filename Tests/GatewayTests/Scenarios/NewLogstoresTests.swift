import Configuration
import Queue
import SLS
import TestGateway
import TestSupport
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

/// Bulks that name several new logstores at once, over a real queue from which nothing leaves.
@Suite(.timeLimit(.minutes(1))) struct NewLogstoresTests {
    private let trial: SandboxedGateway

    init() throws {
        let nowhere = try Endpoint(parsing: "http://localhost:1")
        trial = try SandboxedGateway {
            $0.destinations[0].endpoints = [nowhere]
            $0.destinations[0].backlog.logstoresMax = 2
        }
    }

    /// The status of each action.
    private func statuses(_ lines: [String]) throws -> [Int] {
        let body = lines.map { $0 + "\n" }.joined()
        let answer = try trial.devices.post("/_bulk?filter_path=items.*.status", body.utf8)
        #expect(answer.status == 200, "\(answer.text)")
        return answer.text.matches(of: /"status":(\d+)/).compactMap { Int($0.1) }
    }

    private func documents(_ names: String...) -> [String] {
        names.flatMap { [#"{"index":{"_index":"log-\#($0)"}}"#, #"{"a":"b"}"#] }
    }

    /// The queue shows a moment after the answer who has a place, and then knows it for the next
    /// request, too.
    private func haveThem(_ names: String...) -> Bool {
        eventually {
            trial.gateway.report.destinations[0].outlets.map(\.logstore).sorted() == names
        }
    }

    private func accepted(_ count: Int64) -> Bool {
        eventually { trial.gateway.report.queue.ledger.accepted == count }
    }

    @Test("A bulk with more new logstores than places is stored up to the limit")
    func several() throws {
        let three = documents("a", "b", "c", "a", "c")
        for round in 1...2 {
            #expect(try statuses(three) == [201, 201, 429, 201, 429])
            #expect(accepted(3 * Int64(round)))
        }
        #expect(haveThem("log-a", "log-b"))
        #expect(try statuses(documents("d", "e", "b")) == [429, 429, 201])
    }

    @Test("Successive bulks use up the places for logstores")
    func later() throws {
        #expect(try statuses(documents("a")) == [201])
        #expect(haveThem("log-a"))
        #expect(try statuses(documents("b", "c")) == [201, 429])
        #expect(haveThem("log-a", "log-b"))
        #expect(try statuses(documents("c")) == [429])
    }

    @Test("A request without logs uses no place for a logstore")
    func empty() throws {
        let lines =
            [
                #"{"delete":{"_index":"log-x","_id":"1"}}"#, #"{"index":{"_index":"log-y"}}"#,
                "no document",
            ]
            + documents("a", "b")
        #expect(try statuses(lines) == [400, 400, 201, 201])
        #expect(haveThem("log-a", "log-b"))
    }
}
