import Queue
import System
import Testing

@testable import Delivery

@Suite struct TurnsTests {
    let now = Moment(nanoseconds: 1_000_000_000)

    func outlet(_ name: String, packets: Int = 1) -> DeliveryOutlet {
        let outlet = DeliveryOutlet(
            Outlet(destination: "app", logstore: name),
            Gate.Bounds(most: 4)
        )
        for number in 0..<packets { outlet.leases.arrived(LeasesTests.lease(Int64(number))) }
        return outlet
    }

    func next(_ turns: inout Turns) -> String? { turns.next()?.name.logstore }

    @Test("Each has one turn at a time, in order")
    func order() {
        var turns = Turns()
        let (a, b) = (outlet("a"), outlet("b"))
        for outlet in [a, b, a, b] { turns.enlist(outlet) }
        #expect(turns.count == 2)
        #expect(next(&turns) == "a")
        turns.enlist(a)
        #expect(next(&turns) == "b")
        #expect(next(&turns) == "a")
        #expect(next(&turns) == nil)
    }

    @Test("Who has nothing to send has no turn")
    func idle() {
        var turns = Turns()
        turns.enlist(outlet("idle", packets: 0))
        #expect(turns.count == 0)
    }

    @Test("A sleeper has no turn before its time, unless something happens to it")
    func sleep() {
        var turns = Turns()
        let (a, b) = (outlet("a"), outlet("b"))
        for (outlet, seconds) in [(a, 5), (b, 3)] {
            outlet.gate.hold(until: now + .seconds(seconds), now)
            turns.sleep(outlet, until: now + .seconds(seconds))
            turns.enlist(outlet)
        }
        #expect(turns.count == 0)
        #expect(turns.nextWaking == now + .seconds(3))
        turns.wake(now + .seconds(2))
        #expect(turns.count == 0)
        turns.wake(now + .seconds(3))
        #expect(next(&turns) == "b")
        #expect(turns.nextWaking == now + .seconds(5))
        a.gate.reopen(now)
        turns.rouse(a)
        #expect(next(&turns) == "a")
        turns.wake(now + .seconds(5))
        #expect(turns.count == 0)
        #expect(turns.nextWaking == nil)
    }
}
