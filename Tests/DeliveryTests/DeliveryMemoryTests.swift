import Configuration
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

@Suite struct DeliveryMemoryTests {
    /// Sends bodies of such a size for all destinations in turn until none may send one more; tells
    /// what each has.
    private func fill(_ memory: DeliveryMemory, _ count: Int, bodies bytes: Int) -> [Int] {
        var own = Array(repeating: 0, count: count)
        var hasSent = true
        while hasSent {
            hasSent = false
            memory.beginTurn()
            for index in own.indices where memory.admitsBodyOrClaims(bytes, holding: own[index]) {
                memory.reserveBody(bytes)
                own[index] += bytes
                hasSent = true
            }
        }
        return own
    }

    @Test(
        "A quarter is kept, and each gets as much of the rest as it leaves free",
        arguments: [1, 2, 9, 40]
    )
    func shares(count: Int) {
        let memory = DeliveryMemory(max: 1_000_000)
        let own = fill(memory, count, bodies: 1000)
        let share = 750_000 / (count + 1)
        #expect(own.allSatisfy { $0 <= share + 1000 && $0 >= share - 1000 }, "\(own)")
        let free = memory.max - memory.used
        #expect(free >= 250_000 + share - 1000 * count)
        #expect(
            memory.admitsBodyOrClaims(free, holding: 0),
            "one that has nothing gets what is free"
        )
    }

    @Test("Where not every destination can have a body under way, as many have one as fit")
    func crowd() {
        let memory = DeliveryMemory(max: 10_000)
        let own = fill(memory, 50, bodies: 1000)
        #expect(memory.used <= memory.max)
        #expect(own.count { $0 == 1000 } == 10)
    }

    @Test("A large body finds room, however busy others are with small ones")
    func large() {
        let memory = DeliveryMemory(max: 10_000)
        var own = fill(memory, 9, bodies: 100)
        var rounds = 0
        // Each round one of their requests ends, and the destination with the large one is asked
        // first.
        while rounds < 1000 {
            rounds += 1
            memory.beginTurn()
            if memory.admitsBodyOrClaims(4000, holding: 0) { break }
            let busiest = own.indices.max { own[$0] < own[$1] } ?? 0
            memory.releaseBody(100)
            own[busiest] -= 100
            for index in own.indices where memory.admitsBodyOrClaims(100, holding: own[index]) {
                memory.reserveBody(100)
                own[index] += 100
            }
        }
        #expect(rounds <= 40)
    }

    @Test("Content that waits leaves bodies half of the bound")
    func contents() {
        let memory = DeliveryMemory(max: 10_000)
        var own = [0, 0, 0]
        for _ in 0..<100 {
            for index in own.indices where memory.reserveContent(100, holding: own[index]) {
                own[index] += 100
            }
        }
        #expect(memory.contents <= 5000 && memory.contents > 3000)
        #expect(memory.admitsBodyOrClaims(5000, holding: 0))
        memory.releaseContent(memory.contents)
        #expect(memory.used == 0)
    }

    @Test(
        "Whatever comes and goes, the bound holds and all that is given back is free",
        arguments: 1...20
    )
    func anything(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let memory = DeliveryMemory(max: 100_000)
        var bodies: [[Int]] = Array(repeating: [], count: 7)
        var contents: [[Int]] = Array(repeating: [], count: 7)
        for _ in 0..<5000 {
            let index = Int(random.next() % 7)
            let bytes = 1 + Int(random.next() % 20_000)
            switch random.next() % 5 {
            case 0: memory.beginTurn()
            case 1:
                let own = bodies[index].reduce(0, +)
                guard memory.admitsBodyOrClaims(bytes, holding: own) else { continue }
                memory.reserveBody(bytes)
                bodies[index].append(bytes)
            case 2: if let last = bodies[index].popLast() { memory.releaseBody(last) }
            case 3:
                let own = contents[index].reduce(0, +)
                if memory.reserveContent(bytes, holding: own) { contents[index].append(bytes) }
            default: if let last = contents[index].popLast() { memory.releaseContent(last) }
            }
            #expect(memory.used <= memory.max)
            #expect(memory.bodies == bodies.joined().reduce(0, +))
            #expect(memory.contents == contents.joined().reduce(0, +))
        }
    }
}

/// Many destinations whose endpoints hang, and one that is well.
@Suite(.timeLimit(.minutes(10))) struct SharedMemoryTests {
    private static let hanging = (1...12).map { "hanging-\($0)" }
    private static let memoryMax = 3 << 20

    /// About 64 KiB, which no compression makes smaller here.
    private static let logs = (0..<640).map {
        Samples.log("\($0) \(String(repeating: "x", count: 84))")
    }

    @Test("They hold no more in memory than the bound, and the healthy one delivers meanwhile")
    func bound() throws {
        let source = MemorySource()
        let turnstile = Turnstile(behind: .max)
        // Endpoints of their own: one that destinations share bounds their requests before the
        // memory does.
        let stuck = try Self.hanging.map { _ in
            try ScriptedServer { _, _ in
                turnstile.pass()
                return .stored
            }
        }
        let well = try ScriptedServer()
        let ports = stuck.map(\.port) + [well.port]
        let settings = try zip(Self.hanging + ["well"], ports).map { name, port in
            var settings = try Samples.destination(port: port, name: name, compression: .none)
            settings.transfer.transport.sendTimeout = .seconds(60)
            return settings
        }
        let forwarder = try Forwarder.started(settings, source: source, memoryMax: Self.memoryMax)
        var number: Int64 = 0
        func offer(_ count: Int, to destination: String) {
            for _ in 0..<count {
                number += 1
                source.offer(number, logs: Self.logs, to: destination, logstore: "s\(number % 3)")
            }
        }
        func held() -> Int { forwarder.status.reduce(0) { $0 + $1.memoryBytes } }
        for destination in Self.hanging { offer(8, to: destination) }
        // Each has its part, and some would have more.
        #expect(
            eventually {
                let hanging = forwarder.status.dropLast()
                return hanging.allSatisfy { $0.inFlight > 0 }
                    && hanging.contains { $0.memoryWaits > 0 }
            }
        )
        #expect(held() <= Self.memoryMax)
        let bodies = stuck.flatMap(\.requests.now).reduce(0) { $0 + $1.body.count }
        #expect(bodies <= Self.memoryMax, "\(bodies) bytes are under way")

        offer(20, to: "well")
        #expect(eventually { forwarder.status.last?.sentPackets == 20 })
        #expect(held() <= Self.memoryMax)
        turnstile.open()
        #expect(source.state.wait { $0.unsettled.isEmpty })
        #expect(eventually { held() == 0 })
        forwarder.stop(within: .seconds(5))
        for server in stuck { server.stop() }
        well.stop()
        #expect(stuck.reduce(0) { $0 + $1.requests.now.count } == 8 * Self.hanging.count)
    }
}
