import System
import Testing

@testable import Fleet

/// Times are in seconds since the beginning.
@Suite struct AdoptionPlanTests {
    private let timing = FleetTiming()
    private var plan = AdoptionPlan(FleetTiming())

    private func moment(_ seconds: Int) -> Moment {
        Moment(nanoseconds: Int64(seconds) * 1_000_000_000)
    }

    @Test("An orphan is tried once, after a random time that grows with the shards adopted")
    mutating func tries() throws {
        for adopted in 0..<5 {
            plan.schedule("a", after: adopted, moment(0))
            let next = try #require(plan.next)
            #expect(next >= moment(0) && next <= moment(0) + timing.rivalWait * (1 + adopted))
        }
        #expect(!plan.isNew("a") && plan.isNew("b"))
        #expect(plan.takeDue(moment(10)) == "a" && plan.takeDue(moment(10)) == nil)
        #expect(plan.isNew("a"))
    }

    @Test("An orphan that has an owner again is not tried")
    mutating func owned() {
        plan.schedule("a", after: 0, moment(0))
        plan.update([], among: ["a"], moment(1))
        #expect(plan.takeDue(moment(10)) == nil)
    }

    @Test("A shard that is held off waits, and not longer")
    mutating func holdOff() {
        plan.schedule("a", after: 0, moment(0))
        plan.holdOff("a", for: .seconds(30), moment(0))
        plan.update(["a"], among: ["a"], moment(29))
        #expect(plan.isHeldOff("a") && !plan.isNew("a") && plan.takeDue(moment(29)) == nil)
        plan.update(["a"], among: ["a"], moment(31))
        #expect(!plan.isHeldOff("a") && plan.isNew("a"))
    }

    @Test("Failures put the next try off, up to an hour; a success and a removal forget them")
    mutating func failures() {
        let pauses = (0..<12).map { _ in plan.failed("a") }
        #expect(pauses.prefix(3) == [.seconds(30), .seconds(60), .seconds(120)])
        #expect(pauses.last == .seconds(3600) && pauses == pauses.sorted())
        plan.succeeded("a")
        #expect(plan.failed("a") == .seconds(30))
        plan.update([], among: [], moment(1))
        #expect(plan.failed("a") == .seconds(30))
    }
}
