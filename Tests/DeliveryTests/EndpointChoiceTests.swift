import System
import TestSupport
import Testing

@testable import Delivery

@Suite struct EndpointChoiceTests {
    typealias Switch = EndpointChoice.Switch

    static func moment(_ seconds: Double) -> Moment {
        Moment(nanoseconds: 0) + .seconds(1000) + .milliseconds(Int(seconds * 1000))
    }

    /// Sends one request to the place that the choice names; all gates are open.
    func send(_ choice: inout EndpointChoice, at seconds: Double) -> Int {
        let place = choice.next(Self.moment(seconds)) { _ in Moment(nanoseconds: 0) }
        choice.started(at: place, Self.moment(seconds))
        return place
    }

    func fail(_ choice: inout EndpointChoice, _ place: Int, at seconds: Double) -> Switch? {
        choice.failed(at: place, after: .zero, Self.moment(seconds), random: 1)
    }

    func failThrice(_ choice: inout EndpointChoice, _ place: Int, at seconds: Double) -> Switch? {
        (0..<3).map { _ in fail(&choice, place, at: seconds) }.last ?? nil
    }

    @Test("One endpoint is all there is, whatever happens")
    func single() {
        var choice = EndpointChoice(count: 1)
        for _ in 0..<10 { #expect(fail(&choice, 0, at: 0) == nil) }
        #expect(choice.gateFell(at: 0, Self.moment(0), random: 1) == nil)
        #expect(choice.answered(at: 0, Self.moment(0)) == nil)
        #expect(send(&choice, at: 1) == 0)
        #expect(choice.candidates == [0])
    }

    @Test("Three failures in a row lead to the next endpoint, fewer do not")
    func leave() {
        var choice = EndpointChoice(count: 3)
        for _ in 0..<5 {
            #expect(fail(&choice, 0, at: 0) == nil)
            #expect(fail(&choice, 0, at: 0) == nil)
            #expect(choice.answered(at: 0, Self.moment(0)) == nil)
        }
        #expect(
            failThrice(&choice, 0, at: 0)
                == Switch(from: 0, to: 1, reason: .silence(failures: 3))
        )
        #expect(send(&choice, at: 1) == 1)
        #expect(failThrice(&choice, 1, at: 1)?.to == 2)
    }

    @Test(
        "One request that was patiently waited for is enough, unless another was answered meanwhile"
    )
    func mute() {
        func failure(answeredAt answered: Double?, lasted: Duration) -> Switch? {
            var choice = EndpointChoice(count: 2)
            if let answered { _ = choice.answered(at: 0, Self.moment(answered)) }
            return choice.failed(at: 0, after: lasted, Self.moment(100), random: 1)
        }
        let left = Switch(from: 0, to: 1, reason: .silence(failures: 1))
        #expect(failure(answeredAt: nil, lasted: .seconds(4)) == nil)
        #expect(failure(answeredAt: nil, lasted: .seconds(10)) == left)
        #expect(failure(answeredAt: 89, lasted: .seconds(10)) == left)
        #expect(failure(answeredAt: 91, lasted: .seconds(10)) == nil)
    }

    @Test("A gate that falls to single requests leads to the next endpoint at once")
    func gate() {
        var choice = EndpointChoice(count: 2)
        #expect(choice.gateFell(at: 1, Self.moment(0), random: 1) == nil)
        #expect(
            choice.gateFell(at: 0, Self.moment(0), random: 1)
                == Switch(from: 0, to: 1, reason: .silence(failures: 0))
        )
    }

    @Test("Late failures of an endpoint that was left do no harm")
    func late() {
        var choice = EndpointChoice(count: 3)
        _ = failThrice(&choice, 0, at: 0)
        for _ in 0..<8 { #expect(fail(&choice, 0, at: 0) == nil) }
        #expect(choice.current == 1)
        // Nor do they postpone the probe.
        #expect(send(&choice, at: 5.5) == 0)
    }

    @Test(
        "The first is probed by one request at a time, less and less often, and at once returned to"
    )
    func probes() {
        var choice = EndpointChoice(count: 2)
        _ = failThrice(&choice, 0, at: 0)
        var probes: [Double] = []
        for tenth in 0..<20_000 {
            let now = Double(tenth) / 10
            if send(&choice, at: now) == 0 {
                probes.append(now)
                // While it is on its way the others go on.
                #expect(send(&choice, at: now) == 1)
                _ = fail(&choice, 0, at: now)
            }
            _ = choice.answered(at: 1, Self.moment(now))
        }
        let waits = zip(probes, [0] + probes).map { $0 - $1 }
        #expect(waits.prefix(7).elementsEqual([5, 10, 20, 40, 80, 160, 300]))
        #expect(waits.dropFirst(7).allSatisfy { $0 == 300 })

        #expect(send(&choice, at: 3000) == 0)
        #expect(
            choice.answered(at: 0, Self.moment(3000)) == Switch(from: 1, to: 0, reason: .first)
        )
        #expect(send(&choice, at: 3000) == 0)
    }

    @Test("Half of a probe's wait is random")
    func jitter() {
        var choice = EndpointChoice(count: 2)
        for _ in 0..<3 { _ = choice.failed(at: 0, after: .zero, Self.moment(0), random: 0) }
        #expect(send(&choice, at: 2.4) == 1)
        #expect(send(&choice, at: 2.5) == 0)
    }

    @Test("A probe waits for the gate of its endpoint")
    func probeAndGate() {
        var choice = EndpointChoice(count: 2)
        _ = failThrice(&choice, 0, at: 0)
        for opening in [Self.moment(60.1), nil] {
            #expect(choice.next(Self.moment(60)) { $0 == 0 ? opening : Self.moment(0) } == 1)
        }
        #expect(choice.next(Self.moment(60)) { _ in Self.moment(60) } == 0)
    }

    @Test("A probe whose end was never reported does not stop all others")
    func lostProbe() {
        var choice = EndpointChoice(count: 2)
        _ = failThrice(&choice, 0, at: 0)
        #expect(send(&choice, at: 6) == 0)
        #expect(send(&choice, at: 600) == 1)
        #expect(send(&choice, at: 1000) == 0)
    }

    @Test("A first endpoint that comes and goes is probed less and less often, until it lasts")
    func flapping() {
        var choice = EndpointChoice(count: 2)
        var now = 0.0
        var absences: [Double] = []
        func leaveAndReturn(after stay: Double) {
            now += stay
            _ = failThrice(&choice, 0, at: now)
            let left = now
            while send(&choice, at: now) != 0 { now += 0.1 }
            absences.append((now - left).rounded())
            _ = choice.answered(at: 0, Self.moment(now))
        }
        for _ in 0..<4 { leaveAndReturn(after: 1) }
        leaveAndReturn(after: 100)
        #expect(absences == [5, 10, 20, 40, 5])
    }

    @Test("When all are silent they are tried in turn, and the first that answers is stayed with")
    func allSilent() {
        var choice = EndpointChoice(count: 3)
        _ = failThrice(&choice, 0, at: 0)
        _ = failThrice(&choice, 1, at: 0)
        #expect(
            failThrice(&choice, 2, at: 0) == Switch(from: 2, to: 0, reason: .allSilent)
        )
        #expect(choice.candidates == [0, 1, 2])
        var tried: [Int] = []
        for second in 1...6 {
            let place = send(&choice, at: Double(second))
            tried.append(place)
            #expect(fail(&choice, place, at: Double(second)) == nil)
        }
        #expect(tried == [0, 1, 2, 0, 1, 2])
        #expect(
            choice.answered(at: 2, Self.moment(7)) == Switch(from: 0, to: 2, reason: .answered)
        )
        #expect(!choice.allAreSilent)
        // The first is probed as ever.
        #expect(send(&choice, at: 7) == 0)
        #expect(send(&choice, at: 7) == 2)
    }

    @Test("Of silent endpoints the one is tried whose gate opens first")
    func gatesOfSilent() {
        var choice = EndpointChoice(count: 3)
        for place in 0..<3 { _ = failThrice(&choice, place, at: 0) }
        let openings: [Moment?] = [Self.moment(40), nil, Self.moment(20)]
        #expect(choice.next(Self.moment(1)) { openings[$0] } == 2)
        #expect(choice.next(Self.moment(50)) { openings[$0] } == 0)
        #expect(choice.next(Self.moment(1)) { _ in nil } == 0)
    }

    /// Endpoints that come and go at random, against what a bystander who sees everything demands.
    @Test(
        "Whatever comes and goes, requests find an endpoint that answers, and the way back",
        arguments: 1...20 as ClosedRange<UInt64>
    )
    func model(seed: UInt64) {
        var dice = SeededRandom(seed: seed)
        let count = Int.random(in: 2...5, using: &dice)
        var choice = EndpointChoice(count: count)
        var isUp = [Bool](repeating: true, count: count)
        var firstUpFor = 0.0
        var wasted = 0
        var wastedMost = 0
        var isLost = false
        for step in 0..<20_000 {
            let now = Double(step) / 10
            if Int.random(in: 0..<300, using: &dice) == 0 {
                isUp[Int.random(in: 0..<count, using: &dice)].toggle()
                wasted = 0
            }
            firstUpFor = isUp[0] ? firstUpFor + 0.1 : 0
            let place = send(&choice, at: now)
            if isUp[place] {
                _ = choice.answered(at: place, Self.moment(now))
                wasted = 0
            } else {
                let random = Double.random(in: 0...1, using: &dice)
                _ = choice.failed(at: place, after: .zero, Self.moment(now), random: random)
                if isUp.contains(true) { wasted += 1 }
            }
            wastedMost = max(wastedMost, wasted)
            if firstUpFor > 301, choice.current != 0 { isLost = true }
        }
        // Three at each, one turn over all of them, and a probe.
        #expect(wastedMost <= count * 3 + count + 1)
        #expect(!isLost, "the first had been up for longer than any wait between probes")
    }
}
