import CommitLog
import System
import Testing

@testable import Fleet

/// Many gateways that want one orphan, in simulated time: which of them read its log.
@Suite struct AdoptionRaceTests {
    @Test(
        "However many want an orphan, and however long calls take, one reads its log",
        arguments: [(2, 300), (4, 150), (99, 4)]
    )
    func readers(survivors: Int, deaths: Int) {
        for death in 0..<deaths {
            let delay = Duration.milliseconds([2, 20, 200, 900][death % 4])
            var race = AdoptionRace(of: survivors, delay: delay)
            race.run()
            #expect(race.readers.count == 1)
        }
    }

    @Test("Gateways whose calls fail now and then do not keep the others from an orphan")
    func failures() {
        for _ in 0..<100 {
            var race = AdoptionRace(of: 5, delay: .milliseconds(50), failing: 0.2)
            race.run()
            #expect(race.readers.count == 1)
        }
    }
}

/// Does what `FleetLoop` does with an orphan, but for the time that it takes.
private struct AdoptionRace {
    private static let orphan = "dead~00000000"
    private static let timing = FleetTiming()
    private static let dead: NodeRegister = {
        var register = NodeRegister(node: "dead", life: "0")
        register.shards = [orphan: 1]
        return register
    }()

    /// What a gateway does next, at once or when a call has ended.
    private enum Step {
        case decide, firstLook, claimed, secondLook(wasSet: Bool), won, beat
    }

    private struct Gateway {
        var own: NodeRegister
        var watch: ShardWatch
        var plan = AdoptionPlan(AdoptionRace.timing)
        var isReading = false
        /// Its thread is between the first look and the end of the try.
        var isTrying = false
    }

    private let delay: Duration
    private let failing: Double
    private var now = Moment(nanoseconds: 0)
    private var registers: [String: Register] = [:]
    private var revision: UInt64 = 0
    private var gateways: [Gateway] = []
    private var steps: [(at: Moment, gateway: Int, step: Step)] = []
    /// The gateways that have begun to read the log.
    private(set) var readers: [Int] = []

    init(of count: Int, delay: Duration, failing: Double = 0) {
        self.delay = delay
        self.failing = failing
        set(Self.dead)
        for index in 0..<count {
            let life = String(UInt32.random(in: 0...UInt32.max), radix: 16)
            set(NodeRegister(node: "gw-\(index)", life: life))
        }
        // All have seen that the dead gateway tells nothing more.
        var watch = ShardWatch(Self.timing)
        for _ in 0...4 {
            now = now + Self.timing.heartbeat
            watch.look(at: registers, now)
            watch.look(at: .all([ListedShard(name: Self.orphan, last: 7)]), now)
        }
        for register in registers.values.compactMap({ NodeRegister($0.value) })
        where register.node != Self.dead.node {
            gateways.append(Gateway(own: register, watch: watch))
            let beat = Self.timing.heartbeat * Double.random(in: 0...1)
            steps.append((now + beat, gateways.count - 1, .beat))
            steps.append((now, gateways.count - 1, .decide))
        }
    }

    private mutating func set(_ register: NodeRegister) {
        revision += 1
        registers[register.name] = Register(value: register.bytes, revision: revision)
    }

    /// Ends some time after the first one began to read, and at the latest after two minutes.
    mutating func run() {
        var end = now + .seconds(120)
        while let next = steps.indices.min(by: { steps[$0].at < steps[$1].at }) {
            let (at, gateway, step) = steps.remove(at: next)
            guard at < end, readers.count < 2 else { return }
            now = at
            let before = readers.count
            take(step, by: gateway)
            if readers.count > before { end = now + Self.timing.heartbeat * 2 }
        }
    }

    private mutating func then(_ step: Step, by gateway: Int, after pause: Duration? = nil) {
        let pause = pause ?? delay * Double.random(in: 0...1)
        steps.append((now + pause, gateway, step))
    }

    private mutating func look(by index: Int) -> UInt64? {
        var seen = registers
        let mine = seen.removeValue(forKey: gateways[index].own.name)
        gateways[index].watch.look(at: seen, now)
        gateways[index].watch.look(at: .all([ListedShard(name: Self.orphan, last: 7)]), now)
        return mine?.value == gateways[index].own.bytes ? mine?.revision : nil
    }

    private mutating func tell(_ epoch: Int?, by index: Int) -> Bool {
        gateways[index].own.shards[Self.orphan] = epoch
        guard Double.random(in: 0..<1) >= failing else { return false }
        set(gateways[index].own)
        return true
    }

    private mutating func take(_ step: Step, by index: Int) {
        let orphan = Self.orphan
        switch step {
        case .beat where gateways[index].isTrying:
            then(.beat, by: index, after: .milliseconds(10))
        case .beat:
            _ = tell(gateways[index].isReading ? NodeRegister.readingEpoch : nil, by: index)
            _ = look(by: index)
            then(.decide, by: index)
            then(.beat, by: index, after: Self.timing.heartbeat)
        case .decide where gateways[index].isTrying || gateways[index].isReading: return
        case .decide:
            let orphans = gateways[index].watch.orphans(now)
            gateways[index].plan.update(orphans, among: [orphan], now)
            if orphans.contains(orphan), gateways[index].plan.isNew(orphan) {
                gateways[index].plan.schedule(orphan, after: 0, now)
            }
            guard let due = gateways[index].plan.next else { return }
            guard gateways[index].plan.takeDue(now) != nil else {
                return then(.decide, by: index, after: due - now)
            }
            gateways[index].isTrying = true
            then(.firstLook, by: index)
        case .firstLook:
            _ = look(by: index)
            let isFree = gateways[index].watch.orphans(now).contains(orphan)
            gateways[index].isTrying = isFree
            if isFree { then(.claimed, by: index) }
        case .claimed:
            let wasSet = tell(NodeRegister.candidateEpoch, by: index)
            then(.secondLook(wasSet: wasSet), by: index)
        case .secondLook(let wasSet):
            guard wasSet, let claimed = look(by: index),
                gateways[index].watch.mayRead(orphan, asCandidateAt: claimed, now)
            else { return gateways[index].isTrying = false }
            then(.won, by: index)
        case .won:
            gateways[index].isTrying = false
            guard tell(NodeRegister.readingEpoch, by: index) else { return }
            gateways[index].isReading = true
            readers.append(index)
        }
    }
}
