import Credentials
import System
import Testing

@testable import Admin
@testable import Gateway
@testable import Operations

@Suite struct CredentialWatchTests {
    private typealias State = CredentialStatus.State

    private var watch = CredentialWatch()
    private var now = Moment(nanoseconds: 0)

    /// What is told of one credential that is looked at every ten seconds, by its states.
    private mutating func events(
        _ states: [State],
        fingerprint: String = "a",
        failures: [Int] = []
    ) -> [String] {
        states.enumerated().map { index, state in
            var status = CredentialStatus(name: "default", source: "admin", state: state)
            status.fingerprint = fingerprint
            status.failures = failures.isEmpty ? 0 : failures[index]
            let notices = watch.look(
                [status],
                interval: .seconds(300),
                now: now,
                time: WallTime(seconds: 1_700_000_000)
            )
            now = now + .seconds(10)
            return notices.map(\.event.rawValue).joined()
        }
    }

    @Test("A usable credential, or one in its first fetch, causes no notice")
    mutating func well() {
        let told = events([.refreshing, .missing, .refreshing, .ok, .ok])
        #expect(told.joined() == "")
    }

    @Test("A missing credential is reported after several failures of its source")
    mutating func neverThere() {
        let told = events(
            [.missing, .missing, .missing, .missing, .ok],
            failures: [1, 2, 3, 4, 0]
        )
        #expect(told == ["", "", "missing", "", "recovered"])
    }

    @Test("Each event is reported once")
    mutating func once() {
        #expect(
            events([.ok, .expiring, .expiring, .expired, .expired, .ok, .ok])
                == ["", "expiring", "", "expired", "", "recovered", ""]
        )
    }

    @Test("A credential unusable at the start is reported, and so is its recovery")
    mutating func start() {
        #expect(events([.refused, .refreshing, .ok]) == ["refused", "", "recovered"])
    }

    @Test("A second refused credential is reported after the interval")
    mutating func second() {
        #expect(events([.refused]) == ["refused"])
        #expect(events([.refused], fingerprint: "b") == [""])
        now = now + .seconds(300)
        #expect(events([.refused, .refused], fingerprint: "b") == ["refused", ""])
    }

    @Test("A flapping credential is reported at most once per interval, with its last state")
    mutating func flapping() {
        // Half an hour of it.
        let flapping = (0..<180).map { $0 % 2 == 0 ? State.refused : .ok }
        let told = events(flapping).filter { !$0.isEmpty }
        #expect((2...14).contains(told.count), "\(told)")
        let after = events(Array(repeating: .refused, count: 60)).filter { !$0.isEmpty }
        let all = told + after
        #expect(all.last == "refused")
        let isAlternating = zip(all, all.dropFirst()).allSatisfy { $0 != $1 }
        #expect(isAlternating, "\(all)")
    }

    @Test("The interval is counted for each credential, and a removed one is forgotten")
    mutating func several() {
        func look(_ names: [String]) -> [String] {
            watch.look(
                names.map { CredentialStatus(name: $0, source: "admin", state: .refused) },
                interval: .seconds(300),
                now: now,
                time: .now
            ).map(\.status.name)
        }
        #expect(look(["a", "b"]) == ["a", "b"])
        #expect(look(["b"]) == [])
        #expect(look(["a", "b"]) == ["a"])
    }
}
