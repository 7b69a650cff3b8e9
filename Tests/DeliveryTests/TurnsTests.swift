import Queue
import System
import Testing

@testable import Delivery

@Suite struct TurnsTests {
    let now = Moment(nanoseconds: 1_000_000_000)

    func outlet(_ name: String, packets: Int = 1) -> DeliveryOutlet {
        let outlet = DeliveryOutlet(
            Outlet(destination: "app", logstore: name),
            Gate(most: 4)
        )
        for number in 0..<packets {
            outlet.line.arrived(PacketLineTests.lease(Int64(number)), inFlightMax: 8)
        }
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

    @Test("An outlet with nothing to send has no turn")
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
        turns.wakeSleepers(now + .seconds(2))
        #expect(turns.count == 0)
        turns.wakeSleepers(now + .seconds(3))
        #expect(next(&turns) == "b")
        #expect(turns.nextWaking == now + .seconds(5))
        a.gate.reopen(now)
        turns.wake(a)
        #expect(next(&turns) == "a")
        turns.wakeSleepers(now + .seconds(5))
        #expect(turns.count == 0)
        #expect(turns.nextWaking == nil)
    }

    private func paused(_ name: String) -> DeliveryOutlet {
        let outlet = outlet(name)
        outlet.gate.pause(now, random: 1)
        return outlet
    }

    @Test("Outlets that probe are passed over while there is no place for a probe")
    func probes() {
        var turns = Turns()
        let (paused, open) = (paused("paused"), outlet("open"))
        turns.enlist(paused)
        turns.enlist(open)
        #expect(turns.count == 2)
        #expect(turns.next(probes: false)?.name.logstore == "open")
        #expect(turns.next(probes: false) == nil)
        #expect(turns.count == 1)
        turns.enlist(open)
        // Its turn came first.
        #expect(next(&turns) == "paused")
        #expect(next(&turns) == "open")
        #expect(turns.count == 0)
    }

    @Test(
        "An outlet that recovers in line need not wait for a place for probes, and the other way round"
    )
    func changing() {
        var turns = Turns()
        let outlet = paused("a")
        turns.enlist(outlet)
        outlet.gate.probing = nil
        turns.wake(outlet)
        #expect(turns.count == 1)
        outlet.gate.pause(now, random: 1)
        turns.wake(outlet)
        #expect(turns.count == 1)
        #expect(turns.next(probes: false) == nil)
        #expect(next(&turns) == "a")
        #expect(next(&turns) == nil && turns.count == 0)
    }

    @Test("To wake many sleepers takes so much longer as they are more, and not the square of it")
    func many() {
        func time(_ count: Int) -> Duration {
            let outlets = (0..<count).map { outlet("\($0)") }
            var turns = Turns()
            for outlet in outlets { turns.sleep(outlet, until: now + .seconds(60)) }
            let start = threadTime()
            for outlet in outlets { turns.wake(outlet) }
            #expect(turns.count == count && turns.nextWaking == nil)
            for _ in 0..<count { turns.sleep(turns.next() ?? outlets[0], until: now) }
            for outlet in outlets.reversed() { turns.wake(outlet) }
            #expect(turns.count == count)
            return threadTime() - start
        }
        _ = time(100)
        let (few, many) = (time(1000), time(16_000))
        #expect(many < few * 80, "\(few) for 1000, \(many) for 16000")
    }
}

@Suite struct PlacesTests {
    /// Each in turn takes what it may, until nobody can.
    func fill(_ places: inout Places, outlets: Int, limit: Int = .max) -> [Int] {
        var held = [Int](repeating: 0, count: outlets)
        var hasTaken = true
        while hasTaken {
            hasTaken = false
            for outlet in held.indices
            where places.admits(holding: held[outlet], isProbe: false, within: limit) {
                places.take(isProbe: false)
                held[outlet] += 1
                hasTaken = true
            }
        }
        return held
    }

    @Test("One outlet gets half of the places, so that another finds some")
    func alone() {
        var places = Places(total: 16)
        #expect(fill(&places, outlets: 1) == [8])
        #expect(places.admits(holding: 0, isProbe: false, within: .max))
    }

    @Test("Several share, and none is without", arguments: [2, 3, 7, 16])
    func shared(outlets: Int) throws {
        var places = Places(total: 16)
        let held = fill(&places, outlets: outlets)
        let (most, least) = (try #require(held.max()), try #require(held.min()))
        #expect(least >= 1)
        #expect(most - least <= 1)
        #expect(places.taken <= 16)
    }

    @Test("More outlets than places never take more than there are")
    func many() {
        var places = Places(total: 4)
        #expect(fill(&places, outlets: 100).reduce(0, +) == 4)
        #expect(places.free(within: .max) == 0)
        places.giveBack(isProbe: false)
        #expect(places.admits(holding: 0, isProbe: false, within: .max))
    }

    @Test("A lower limit counts instead")
    func limited() {
        var places = Places(total: 16)
        #expect(fill(&places, outlets: 2, limit: 3) == [1, 1])
        #expect(places.free(within: 1) == 0)
    }

    @Test("Probes that hang leave half of the places", arguments: [1, 2, 16])
    func probes(total: Int) {
        var places = Places(total: total)
        var probes = 0
        while places.admits(holding: 0, isProbe: true, within: .max) {
            places.take(isProbe: true)
            probes += 1
        }
        #expect(probes == max(1, total / 2))
        for _ in 0..<probes { places.giveBack(isProbe: true) }
        #expect(places == Places(total: total))
    }
}
