import Configuration
import System
import TestSupport
import Testing

@testable import Delivery

@Suite struct GateTests {
    static let start = Moment(nanoseconds: 1_000_000_000_000)

    /// A gate with a clock of its own. Waits are as long as they can be.
    struct Bench {
        var gate: Gate
        var now = GateTests.start

        init(most: Int = 16, waits: Backoff = .retry) {
            gate = Gate(most: most, waits: waits)
            gate.limit = most
        }

        mutating func enter() -> Gate.Pass { gate.enter(now, bytes: 1000) }

        @discardableResult
        mutating func leave(
            _ pass: Gate.Pass,
            _ verdict: Gate.Verdict,
            retryAfter: Duration? = nil
        ) -> Gate.Change? {
            gate.leave(pass, verdict, retryAfter: retryAfter, now, random: 1)
        }

        @discardableResult
        mutating func send(
            _ verdict: Gate.Verdict,
            times: Int = 1,
            retryAfter: Duration? = nil
        ) -> Gate.Change? {
            var change: Gate.Change?
            for _ in 0..<times {
                change = leave(enter(), verdict, retryAfter: retryAfter) ?? change
            }
            return change
        }

        /// Waits until something may go through, and tells how long that took.
        mutating func waitForOpening() -> Duration {
            let before = now
            now = max(now, gate.nextOpening ?? now)
            return now - before
        }
    }

    // MARK: - Open

    @Test("A probe that was not sent after all leaves its turn to the next one, at once")
    func withdrawn() {
        var bench = Bench()
        bench.send(.forbidden)
        bench.now = bench.now + .seconds(100)
        #expect(bench.gate.permits(bench.now))
        let pass = bench.enter()
        #expect(!bench.gate.permits(bench.now))
        bench.gate.withdraw(pass)
        #expect(bench.gate.permits(bench.now))
        #expect(bench.send(.stored) == .recovered)
    }

    @Test("As many go through as the limit says, and one more when one has come back")
    func limit() {
        var bench = Bench(most: 3)
        let passes = (1...3).map { _ in bench.enter() }
        #expect(!bench.gate.permits(bench.now))
        #expect(bench.gate.nextOpening == nil)
        #expect(bench.gate.room(bench.now) == 0)
        bench.leave(passes[0], .stored)
        #expect(bench.gate.permits(bench.now))
        #expect(bench.gate.room(bench.now) == 1)
    }

    @Test("A new gate begins with a quarter, and grows by one with each ten good results")
    func growth() {
        var bench = Bench()
        bench.gate = Gate(most: 16)
        #expect(bench.gate.limit == 4)
        bench.send(.stored, times: 9)
        #expect(bench.gate.limit == 4)
        bench.send(.reached)
        #expect(bench.gate.limit == 5)
        bench.send(.stored, times: 1000)
        #expect(bench.gate.limit == 16)
    }

    @Test(
        "The part of failures in ten results decides what becomes of the limit",
        arguments: [(0, 16), (1, 16), (2, 12), (4, 12), (5, 8), (10, 8)]
    )
    func windows(failures: Int, limit: Int) {
        var bench = Bench()
        // All are sent before the first comes back, so that one decrease is all.
        let passes = (1...10).map { _ in bench.enter() }
        for (index, pass) in passes.enumerated() {
            bench.leave(pass, index < 10 - failures ? .stored : .failed)
        }
        #expect(bench.gate.limit == limit)
    }

    @Test("Few results are judged after three seconds")
    func slowResults() {
        var bench = Bench()
        bench.send(.failed)
        bench.now = bench.now + .seconds(2)
        bench.send(.failed)
        #expect(bench.gate.limit == 16)
        bench.now = bench.now + .milliseconds(1001)
        bench.send(.failed)
        #expect(bench.gate.limit == 8)
    }

    @Test("A request that was sent before a decrease does not decrease again")
    func oldResults() {
        var bench = Bench()
        let passes = (1...16).map { _ in bench.enter() }
        for pass in passes { bench.leave(pass, .failed) }
        #expect(bench.gate.limit == 8)
        #expect(bench.gate.inFlight == 0)
    }

    @Test("A resized gate opens as wide as it was, and a lowered one stays low")
    func resized() {
        var bench = Bench()
        bench.gate.resize(to: 32)
        #expect(bench.gate.limit == 32)
        bench.send(.failed, times: 10)
        let lowered = bench.gate.limit
        #expect(lowered < 32)
        bench.gate.resize(to: 64)
        #expect(bench.gate.limit == lowered)
        bench.gate.resize(to: 4)
        #expect(bench.gate.limit == 4)
    }

    // MARK: - Probing

    @Test("When everything fails it comes down to single probes after few requests")
    func outage() {
        var bench = Bench()
        var sent = 0
        while bench.gate.probing == nil {
            bench.send(.failed)
            sent += 1
        }
        #expect(sent == 25)
        #expect(!bench.gate.permits(bench.now))
    }

    @Test("Waits between probes double up to a minute")
    func backoff() {
        var bench = Bench()
        #expect(bench.send(.forbidden) == .closed)
        var waits: [Duration] = []
        for _ in 1...12 {
            waits.append(bench.waitForOpening())
            #expect(bench.send(.forbidden) == nil)
        }
        #expect(waits[0] == .milliseconds(100))
        #expect(waits[1] == .milliseconds(200))
        #expect(waits[4] == .milliseconds(1600))
        #expect(waits[10] == .seconds(60))
        #expect(waits[11] == .seconds(60))
    }

    @Test("A suspended project is asked every five minutes at last")
    func suspended() {
        var bench = Bench()
        for _ in 1...20 {
            bench.send(.suspended)
            _ = bench.waitForOpening()
        }
        bench.send(.suspended)
        #expect(bench.waitForOpening() == .seconds(300))
    }

    @Test("Only one probe is on its way")
    func oneProbe() {
        var bench = Bench()
        bench.send(.forbidden)
        _ = bench.waitForOpening()
        #expect(bench.gate.room(bench.now) == 1)
        let probe = bench.enter()
        #expect(bench.gate.nextOpening == nil)
        #expect(bench.gate.room(bench.now) == 0)
        bench.leave(probe, .failed)
        #expect(bench.gate.nextOpening != nil)
    }

    @Test("A probe that succeeds opens the gate to half of its maximum")
    func recovery() {
        var bench = Bench()
        bench.send(.forbidden)
        _ = bench.waitForOpening()
        #expect(bench.send(.reached) == .recovered)
        #expect(bench.gate.limit == 8)
        #expect(bench.gate.permits(bench.now))
    }

    @Test(
        "A request that was sent before a pause neither opens nor postpones, but brings the probe forward"
    )
    func oldResultsWhileProbing() {
        var bench = Bench()
        let old = (1...3).map { _ in bench.enter() }
        bench.send(.forbidden)
        let next = bench.gate.nextOpening
        bench.leave(old[0], .forbidden)
        bench.leave(old[1], .failed)
        #expect(bench.gate.nextOpening == next)
        #expect(bench.leave(old[2], .stored) == nil)
        #expect(bench.gate.nextOpening == bench.now)
        #expect(bench.gate.probing != nil)
    }

    @Test(
        "A request let through beside the probe opens the gate by success, and says nothing by failure"
    )
    func witness() {
        var bench = Bench()
        bench.send(.forbidden)
        _ = bench.waitForOpening()
        let probe = bench.enter()
        let (good, bad) = (bench.enter(), bench.enter())
        bench.leave(bad, .failed)
        #expect(bench.gate.nextOpening == nil)
        #expect(bench.leave(good, .stored) == .recovered)
        bench.leave(probe, .failed)
        #expect(bench.gate.probing == nil)
        #expect(bench.gate.limit == 8)
    }

    @Test("A probe that says nothing about the scope is repeated, after a wait")
    func undecided() {
        var bench = Bench()
        bench.send(.forbidden)
        _ = bench.waitForOpening()
        bench.send(.forbidden)
        _ = bench.waitForOpening()
        bench.send(.none)
        #expect(bench.waitForOpening() == .milliseconds(200))
    }

    @Test("While it is unknown what is refused, only refused logstores wait up to a minute")
    func refusedWaitLonger() {
        var bench = Bench()
        bench.send(.undecided)
        for _ in 0..<12 {
            bench.now = bench.gate.nextOpeningOfRefused ?? bench.now
            bench.send(.undecided)
        }
        #expect(bench.gate.nextOpening == bench.now + .seconds(1))
        #expect(bench.gate.nextOpeningOfRefused == bench.now + .seconds(60))
        var hastened = bench
        hastened.gate.hastenProbe(to: bench.now + .seconds(5))
        #expect(hastened.gate.nextOpeningOfRefused == bench.now + .seconds(5))
        var reopened = bench
        reopened.gate.reopen(bench.now)
        #expect(reopened.gate.nextOpeningOfRefused == bench.now)
        // A refusal of the credential itself concerns all alike.
        bench.now = bench.gate.nextOpening ?? bench.now
        bench.send(.forbidden)
        #expect(bench.gate.nextOpening == bench.now + .seconds(60))
        #expect(bench.gate.nextOpeningOfRefused == bench.gate.nextOpening)
    }

    // MARK: - From outside

    @Test("Something new is worth a probe at once, and old news are ignored")
    func reopen() {
        var bench = Bench()
        let old = bench.enter()
        for _ in 1...10 {
            bench.send(.forbidden)
            _ = bench.waitForOpening()
        }
        let oldProbe = bench.enter()
        bench.gate.reopen(bench.now)
        #expect(bench.gate.permits(bench.now))
        let probe = bench.enter()
        bench.leave(oldProbe, .forbidden)
        bench.leave(old, .forbidden)
        #expect(bench.leave(probe, .stored) == .recovered)
        // Those that the old credential had sent come late.
        let late = bench.enter()
        bench.gate.reopen(bench.now)
        bench.leave(late, .forbidden)
        #expect(bench.gate.probing == nil)
    }

    @Test("After a new credential that does not help either, waits start over")
    func reopenInVain() {
        var bench = Bench()
        for _ in 1...12 {
            bench.send(.forbidden)
            _ = bench.waitForOpening()
        }
        bench.gate.reopen(bench.now)
        bench.send(.forbidden)
        #expect(bench.waitForOpening() == .milliseconds(200))
    }

    @Test(
        "Retry-After is waited for, up to ten minutes",
        arguments: [(5, 5), (600, 600), (3600, 600)]
    )
    func retryAfter(asked: Int, waited: Int) {
        for verdict in [Gate.Verdict.failed, .overQuota(.unknown), .forbidden] {
            var bench = Bench()
            #expect(bench.send(verdict, retryAfter: .seconds(asked)) == .closed)
            #expect(bench.waitForOpening() == .seconds(waited))
            let probe = bench.enter()
            #expect(!bench.gate.permits(bench.now))
            #expect(bench.leave(probe, .stored) == .recovered)
        }
    }

    @Test("A probe's own Retry-After counts, that of an older request does not")
    func retryAfterWhileProbing() {
        var bench = Bench()
        let old = bench.enter()
        bench.send(.failed, retryAfter: .seconds(5))
        bench.leave(old, .failed, retryAfter: .seconds(500))
        #expect(bench.waitForOpening() == .seconds(5))
        bench.send(.failed, retryAfter: .seconds(7))
        #expect(bench.waitForOpening() == .seconds(7))
    }

    @Test("No late answer ends the rest that a server asked for, and a new setting does")
    func retryAfterAndLateAnswers() {
        for late in [Gate.Verdict.stored, .reached, .failed, .forbidden, .none] {
            var bench = Bench()
            let passes = (1...8).map { _ in bench.enter() }
            #expect(bench.leave(passes[0], .failed, retryAfter: .seconds(5)) == .closed)
            for pass in passes[1...] {
                bench.now = bench.now + .milliseconds(100)
                bench.leave(pass, late)
            }
            #expect(!bench.gate.permits(bench.now), "\(late)")
            #expect(bench.waitForOpening() == .milliseconds(4300), "\(late)")
            bench.send(.failed)
            bench.gate.hold(until: bench.now + .seconds(5), bench.now)
            bench.gate.hastenProbe(to: bench.now)
            #expect(!bench.gate.permits(bench.now))
            bench.gate.reopen(bench.now)
            #expect(bench.gate.permits(bench.now))
        }
    }

    @Test("Another maximum holds at once, and more places may be used at once")
    func widening() {
        var bench = Bench()
        bench.gate.widen(to: 4)
        #expect(bench.gate.limit == 4)
        bench.gate.widen(to: 32)
        #expect(bench.gate.limit == 32)
    }

    // MARK: - Quotas

    @Test("A quota slows down, and closes nothing")
    func quota() {
        var bench = Bench()
        for _ in 1...20 {
            bench.send(.stored)
            bench.now = bench.now + .milliseconds(10)
        }
        bench.send(.overQuota(.requests))
        #expect(bench.gate.probing == nil)
        #expect(bench.gate.limit == 16)
        #expect(!bench.gate.permits(bench.now))
        #expect(bench.waitForOpening() < .milliseconds(200))
    }
}

@Suite struct BackoffTests {
    @Test(
        "The window doubles from 100 ms up to a minute",
        arguments: [
            (0, 100), (1, 100), (2, 200), (3, 400), (10, 51_200), (11, 60_000), (1000, 60_000),
        ]
    )
    func window(failures: Int, milliseconds: Int) {
        #expect(Backoff.retry.window(after: failures) == .milliseconds(milliseconds))
    }

    @Test("The wait is anywhere in the window", arguments: 1...15)
    func jitter(failures: Int) {
        let window = Backoff.retry.window(after: failures)
        #expect(Backoff.retry.wait(after: failures, random: 0) == .zero)
        #expect(Backoff.retry.wait(after: failures, random: 0.5) == window * 0.5)
        #expect(Backoff.retry.wait(after: failures, random: 1) == window)
    }
}
