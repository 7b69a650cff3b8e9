import CommitLog
import Queue
import System
import Testing

@testable import Fleet

/// Times are in seconds since the first look.
@Suite struct ShardWatchTests {
    private static let shard = "a~00000001"
    private var watch = ShardWatch(FleetTiming())
    private var revision: UInt64 = 0

    private func moment(_ seconds: Int) -> Moment {
        Moment(nanoseconds: Int64(seconds) * 1_000_000_000)
    }

    private func register(_ node: String, owns shards: [String], epoch: Int = 1) -> NodeRegister {
        var register = NodeRegister(node: node, life: "00000000")
        register.shards = Dictionary(uniqueKeysWithValues: shards.map { ($0, epoch) })
        register.home = shards.first
        return register
    }

    /// Looks each second. `last` is the end of the log; a nil of `owner` is no register, one with
    /// `moves` is touched.
    private mutating func look(
        _ seconds: ClosedRange<Int>,
        last: (Int) -> UInt64 = { _ in 7 },
        owner: NodeRegister? = nil,
        moves: Bool = true
    ) {
        for second in seconds {
            var registers: [String: Register] = [:]
            if moves { revision += 1 }
            if let owner {
                registers[owner.name] = Register(value: owner.bytes, revision: revision)
            }
            watch.look(at: registers, moment(second))
            let shards = [ListedShard(name: Self.shard, last: last(second))]
            watch.look(at: .all(shards), moment(second))
        }
    }

    private func orphans(_ second: Int) -> [String] { watch.orphans(moment(second)) }

    @Test("A shard is an orphan when no gateway has claimed it and its log has not grown for 12 s")
    mutating func orphan() {
        look(0...11)
        #expect(orphans(11).isEmpty)
        look(12...12)
        #expect(orphans(12) == [Self.shard])
    }

    @Test("A shard that grows has an owner, even if it does not tell it")
    mutating func growing() {
        look(0...60, last: { UInt64($0 / 10) })
        #expect(orphans(60).isEmpty)
        look(61...72, last: { _ in 6 })
        #expect(orphans(72) == [Self.shard])
    }

    @Test(
        "An owner that tells that it lives keeps an idle shard, and one that falls silent loses it"
    )
    mutating func silent() {
        let owner = register("a", owns: [Self.shard])
        look(0...60, owner: owner)
        #expect(orphans(60).isEmpty && watch.namesSeenAlive(moment(60)) == ["a"])
        look(61...71, owner: owner, moves: false)
        #expect(orphans(71).isEmpty)
        look(72...72, owner: owner, moves: false)
        #expect(watch.namesSeenAlive(moment(72)).isEmpty)
        #expect(orphans(72) == [Self.shard])
    }

    @Test("The end that an owner told last counts, also if the list and its register are behind")
    mutating func toldEnd() {
        var owner = register("a", owns: [Self.shard])
        owner.entries = [Self.shard: 3]
        watch.note([Self.shard: 9], moment(0))
        look(0...3, owner: owner)
        // The shard was not known then.
        #expect(watch.lastEntry(of: Self.shard) == 7)
        watch.note([Self.shard: 9, "other": 5], moment(3))
        watch.note([Self.shard: 8], moment(3))
        look(4...6, owner: owner)
        #expect(watch.lastEntry(of: Self.shard) == 9 && watch.lastEntry(of: "other") == 0)
    }

    @Test("What a gateway sees after a time in which it saw nothing says nothing about others")
    mutating func gap() {
        let owner = register("a", owns: [Self.shard])
        look(0...3, owner: owner)
        look(60...60, owner: owner, moves: false)
        #expect(orphans(60).isEmpty && watch.living(moment(60)).count == 1)
        look(61...71, owner: owner)
        #expect(orphans(71).isEmpty)
    }

    @Test(
        "The home shard of a gateway that has stopped waits for it, and what it had adopted does not"
    )
    mutating func stopped() {
        let adopted = "b~00000002"
        var owner = register("a", owns: [Self.shard, adopted])
        owner.isStopped = true
        func look(_ second: Int) {
            watch.look(
                at: [owner.name: Register(value: owner.bytes, revision: 1)],
                moment(second)
            )
            let shards = [Self.shard, adopted].map { ListedShard(name: $0, last: 3) }
            watch.look(at: .all(shards), moment(second))
        }
        look(0)
        #expect(orphans(0) == [adopted])
        for second in 1...14 { look(second) }
        #expect(orphans(14) == [adopted])
        look(15)
        #expect(Set(orphans(15)) == [Self.shard, adopted])
    }

    /// Looks as a large fleet does: at the shards that are doubtful, every 3 s.
    private mutating func lookAtDoubtful(
        _ seconds: ClosedRange<Int>,
        last: UInt64,
        owner: NodeRegister,
        moves: Bool
    ) -> [Set<String>] {
        stride(from: seconds.lowerBound, through: seconds.upperBound, by: 3).map { second in
            if moves { revision += 1 }
            let found = Register(value: owner.bytes, revision: revision)
            watch.look(at: [owner.name: found], moment(second))
            let asked = watch.doubtful(moment(second))
            let shards = asked.map { ListedShard(name: $0, last: last) }
            watch.look(at: ShardList(shards: shards, asked: asked), moment(second))
            return asked
        }
    }

    @Test("A shard is listed alone once its owner is silent, and is an orphan no later for that")
    mutating func doubtful() {
        var owner = register("a", owns: [Self.shard])
        owner.entries = [Self.shard: 7]
        // The owner's shard is known by its register alone.
        #expect(lookAtDoubtful(0...30, last: 7, owner: owner, moves: true).joined().isEmpty)
        #expect(watch.shardsOfLate == [Self.shard])
        let asked = lookAtDoubtful(33...39, last: 7, owner: owner, moves: false)
        #expect(asked == [[], [Self.shard], [Self.shard]])
        #expect(orphans(39).isEmpty)
        _ = lookAtDoubtful(42...42, last: 7, owner: owner, moves: false)
        #expect(orphans(42) == [Self.shard])
    }

    @Test("A log that has grown since its owner told of it is an orphan later")
    mutating func grown() {
        var owner = register("a", owns: [Self.shard])
        owner.entries = [Self.shard: 7]
        _ = lookAtDoubtful(0...30, last: 7, owner: owner, moves: true)
        _ = lookAtDoubtful(33...45, last: 9, owner: owner, moves: false)
        #expect(orphans(47).isEmpty)
        _ = lookAtDoubtful(48...48, last: 9, owner: owner, moves: false)
        #expect(orphans(48) == [Self.shard])
    }

    @Test("After a time without looks, what owners told before says nothing about their logs")
    mutating func doubtfulGap() {
        var owner = register("a", owns: [Self.shard])
        owner.entries = [Self.shard: 7]
        _ = lookAtDoubtful(0...30, last: 7, owner: owner, moves: true)
        _ = lookAtDoubtful(60...69, last: 7, owner: owner, moves: false)
        #expect(orphans(71).isEmpty)
        _ = lookAtDoubtful(72...72, last: 7, owner: owner, moves: false)
        #expect(orphans(72) == [Self.shard])
    }

    @Test("What is known of a shard and its owner stays while lists leave the shard out")
    mutating func unlisted() {
        let owner = register("b", owns: [Self.shard])
        look(0...5, last: { _ in 9 }, owner: owner)
        // Once it is listed, cut off at its end; then it is not for more than ten minutes, with a
        // time without any list.
        for second in stride(from: 6, through: 1500, by: 6) where !(700..<720).contains(second) {
            let registers = [owner.name: Register(value: owner.bytes, revision: revision)]
            watch.look(at: registers, moment(second))
            let isListed = second == 606
            let list = isListed ? [ListedShard(name: Self.shard, last: 4)] : []
            watch.look(at: .all(list), moment(second))
            guard second <= 720 + 600 else {
                #expect(watch.leftovers(moment(second)) == [owner.name], "\(second)")
                #expect(watch.shardsOfLate.isEmpty)
                continue
            }
            #expect(watch.lastEntry(of: Self.shard) == 9, "\(second)")
            #expect(watch.leftovers(moment(second)).isEmpty, "\(second)")
            #expect(watch.lastOwner(of: Self.shard)?.node == "b")
            #expect(watch.shardsOfLate == [Self.shard] && watch.shards.isEmpty != isListed)
        }
    }

    @Test("A claim tells if its gateway has the shard, or only reads it")
    mutating func claims() {
        look(0...1, owner: register("b", owns: [Self.shard], epoch: 0))
        #expect(watch.isRead(Self.shard, moment(1)) && !watch.isOwned(Self.shard, moment(1)))
        look(2...3, owner: register("b", owns: [Self.shard], epoch: 4))
        #expect(!watch.isRead(Self.shard, moment(3)) && watch.isOwned(Self.shard, moment(3)))
    }

    @Test("Of gateways that claim an orphan the one whose register was set first may read its log")
    mutating func firstClaim() {
        look(0...16, owner: register("b", owns: [Self.shard], epoch: NodeRegister.candidateEpoch))
        #expect(watch.mayRead(Self.shard, asCandidateAt: revision - 1, moment(16)))
        #expect(!watch.mayRead(Self.shard, asCandidateAt: revision + 1, moment(16)))
        #expect(!watch.isOwned(Self.shard, moment(16)) && watch.orphans(moment(16)).isEmpty)
        // Whatever has begun to read, or has the shard, was first.
        for epoch in [NodeRegister.readingEpoch, 3] {
            look(17...18, owner: register("b", owns: [Self.shard], epoch: epoch))
            #expect(!watch.mayRead(Self.shard, asCandidateAt: 1, moment(18)))
        }
    }

    @Test("An adoption is cancelled for an owner that tells more, or a reader with a lesser life")
    mutating func cancelledAdoption() {
        var own = NodeRegister(node: "c", life: "11111111")
        own.shards = [Self.shard: NodeRegister.readingEpoch]
        look(0...3, owner: register("b", owns: [Self.shard], epoch: 2))
        let now = moment(3)
        func attempt(_ revision: UInt64) -> AdoptionAttempt {
            AdoptionAttempt(of: Self.shard, asCandidateAt: revision)
        }
        #expect(watch.mustCancel(attempt(revision - 1), of: own, now))
        #expect(!watch.mustCancel(attempt(revision), of: own, now), "it has told nothing since")
        look(4...4, owner: register("b", owns: [Self.shard], epoch: NodeRegister.readingEpoch))
        #expect(watch.mustCancel(attempt(1), of: own, moment(4)))
        own.life = "..."
        #expect(!watch.mustCancel(attempt(1), of: own, moment(4)))
        look(5...5, owner: register("b", owns: [Self.shard], epoch: NodeRegister.candidateEpoch))
        own.life = "11111111"
        #expect(!watch.mustCancel(attempt(1), of: own, moment(5)))
    }

    @Test("A later epoch tells that another gateway has the shard")
    mutating func successor() {
        look(0...1, owner: register("b", owns: [Self.shard], epoch: 5))
        #expect(watch.successor(of: 4, in: Self.shard)?.node == "b")
        #expect(watch.successor(of: 5, in: Self.shard) == nil)
        #expect(watch.lastOwner(of: Self.shard)?.node == "b")
    }

    @Test("What is no register of a gateway counts for nothing")
    mutating func strange() {
        let owner = register("a", owns: [Self.shard])
        var other = owner
        other.node = "b"
        for second in 0...13 {
            watch.look(
                at: [
                    owner.name: Register(value: [1, 2], revision: UInt64(second)),
                    // Under the name of another one.
                    "node.c~00000000": Register(value: other.bytes, revision: UInt64(second)),
                    "gone.x": Register(value: owner.bytes, revision: UInt64(second)),
                ],
                moment(second)
            )
            let shards = [Self.shard, "CTL"].map { ListedShard(name: $0, last: 1) }
            watch.look(at: .all(shards), moment(second))
        }
        #expect(orphans(13) == [Self.shard])
    }

    @Test("A register reads as it was written, and a too large one leaves its destinations out")
    func registers() throws {
        var register = register("gw-1", owns: ["gw-1~00000001", "gw-2~00000002"], epoch: 12)
        register.destinations = ["app", "web"]
        register.keyFingerprint = "0011"
        register.durability = LogDurability(copies: 5, isSynced: false)
        register.isStopped = true
        register.ledger.accepted = 1 << 52
        register.ledger.dead = 3
        register.problem = "no room"
        #expect(NodeRegister(register.bytes) == register)
        register.destinations = (0..<10_000).map { "destination-\($0)" }
        #expect(register.bytes.count <= Register.bytesMax)
        #expect(NodeRegister(register.bytes)?.shards == register.shards)
    }

    @Test("Gateways with other keys, or no destination in common, are of other clusters")
    func foreign() {
        var one = register("a", owns: [])
        var two = register("b", owns: [])
        #expect(one.clusterMismatch(with: two) == nil)
        (one.destinations, two.destinations) = (["app", "web"], ["web"])
        #expect(one.clusterMismatch(with: two) == nil)
        two.destinations = ["staging"]
        #expect(one.clusterMismatch(with: two) != nil)
        two.destinations = ["web"]
        (one.keyFingerprint, two.keyFingerprint) = ("1", "2")
        #expect(one.clusterMismatch(with: two) != nil)
    }

    @Test("Marks of shards that are gone go when they are old, or too many, the oldest first")
    func outdatedMarks() {
        let now = WallTime(seconds: 1_800_000_000)
        func marks(_ count: Int) -> [String: WallTime] {
            let names = (0..<count).map { ("\($0)", now + .seconds(-$0)) }
            return Dictionary(uniqueKeysWithValues: names)
        }
        let most = ShardDirectories.goneMax
        #expect(ShardDirectories.outdated(marks(most), at: now).isEmpty)
        #expect(ShardDirectories.outdated(marks(most + 2), at: now) == ["\(most + 1)", "\(most)"])
        let old = ["new": now, "old": now + .seconds(-61 * 86_400)]
        #expect(ShardDirectories.outdated(old, at: now) == ["old"])
    }

    @Test("Gateways that keep logs differently see it, unless one does not tell")
    func unlike() {
        var one = register("a", owns: [])
        var two = register("b", owns: [])
        one.durability = LogDurability(copies: 3, isSynced: true)
        #expect(one.durabilityMismatch(with: two) == nil)
        two.durability = one.durability
        #expect(one.durabilityMismatch(with: two) == nil)
        two.durability = LogDurability(copies: 3, isSynced: false)
        #expect(one.durabilityMismatch(with: two) != nil)
        #expect(two.durabilityMismatch(with: one) != nil)
        #expect(one.clusterMismatch(with: two) == nil)
    }
}

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

@Suite struct ShardNameTests {
    @Test("A shard's name tells its node, and no two are equal")
    func names() {
        let names = (0..<100).map { _ in ShardName.new(for: "gw~1") }
        #expect(Set(names).count == 100)
        #expect(names.allSatisfy { ShardName.node(of: $0) == "gw~1" })
    }

    @Test(
        "What a gateway did not name is no shard",
        arguments: ["gw", "gw~", "gw~1234567", "gw~1234567G", "CTL"]
    )
    func foreign(name: String) {
        #expect(ShardName.node(of: name) == nil)
    }
}
