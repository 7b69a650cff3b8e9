import CommitLog
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// Whole gateways without listeners: what becomes of logs when one of them is gone.
@Suite(.timeLimit(.minutes(10))) final class ShardFleetTests {
    private let trial = FleetTrial()

    deinit { trial.end() }

    @Test("Another gateway delivers what a dead one has left, and nothing of it stays behind")
    func adoption() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let dead = try trial.start(a)
        #expect(dead.store(1...50) == .stored && dead.storeDead(51) == .stored)
        #expect(dead.store(52...60, "other") == .stored)
        a.view.isReachable = false
        let heir = try trial.start(b)
        let sink = try trial.sink(heir)
        #expect(heir.store(100...110) == .stored)
        #expect(sink.waitFor([Array(1...50), Array(52...60), Array(100...110)].joined()))
        #expect(heir.wait { $0.fleet?.absorptions == 1 })
        #expect(sink.numbers.count == 70, "each log once")
        #expect(try trial.shards.count == 1)
        #expect(heir.wait { $0.ledger.delivered == 70 })
        let ledger = heir.status.ledger
        #expect(ledger.accepted == 71 && ledger.delivered == 70 && ledger.dead == 1)
        #expect(ledger.isClosed && heir.status.fleet?.orphans == [])
        let letters = try heir.deadLetters(matching: .init(), after: 0, limit: 10).letters
        #expect(letters.count == 1 && heir.status.fleet?.lateAcknowledgements == 0)
        // Delivery need not keep what only the other shard had.
        #expect(sink.retired.contains(Outlet(destination: "app", logstore: "other")))
    }

    @Test(
        "A gateway that was cut off for long gets another home shard, and its packets are delivered once"
    )
    func cutOff() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let old = try trial.start(a)
        let first = try old.home()
        #expect(old.store(1...50) == .stored)
        let heir = try trial.start(b)
        let sink = try trial.sink(heir)
        a.view.isReachable = false
        #expect(sink.waitFor(1...50))
        // What it would do now is another gateway's.
        let late = try trial.sink(old)
        #expect(old.store(51...60) == .refused(.failing))
        #expect(heir.wait { $0.fleet?.absorptions == 1 })
        a.view.isReachable = true
        #expect(old.storeUntilTaken(61...70))
        let second = try old.home()
        #expect(first != second && old.status.fleet?.losses == 1)
        #expect(late.waitFor(61...70))
        #expect(late.numbers.sorted() == Array(61...70))
        #expect(sink.numbers.sorted() == Array(1...50))
    }

    @Test("A gateway that cannot reach the cluster begins nothing once others may take its shards")
    func trust() throws {
        let a = trial.machine("a")
        let gateway = try trial.start(a)
        #expect(gateway.store(1...5) == .stored)
        let packets = gateway.deliver(1)
        let packet = packets.take(1)[0]
        #expect(try gateway.blocks(of: packet).count == 1)
        a.view.isReachable = false
        #expect(eventually { (try? gateway.blocks(of: packet)) == nil })
        #expect { try gateway.blocks(of: packet) } throws: {
            ($0 as? QueueError)?.kind == .unreachable
        }
        a.view.isReachable = true
        #expect(eventually { (try? gateway.blocks(of: packet)) != nil })
    }

    @Test("A gateway that stops and comes back has its shard again, with all that was in it")
    func comeback() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        // A start may take a while on a busy machine.
        b.returnTime = .seconds(3)
        let other = try trial.start(b)
        var names: Set<String> = []
        for life in 0..<5 {
            let gateway = try trial.start(a)
            names.formUnion(gateway.status.fleet?.shards.map(\.name) ?? [])
            #expect(gateway.status.ledger.queued == life * 10)
            #expect(gateway.store(life * 10..<life * 10 + 10) == .stored)
            gateway.close()
        }
        #expect(names.count == 1)
        // This time it stays away.
        let sink = try trial.sink(other)
        #expect(sink.waitFor(0..<50))
        #expect(other.wait { $0.fleet?.absorptions == 1 })
        #expect(try trial.shards.count == 1)
        sink.stop()
        other.close()
        // What it has of the absorbed shard is no reason to worry.
        let again = try trial.start(a)
        #expect(again.status.ledger.accepted == 0)
    }

    @Test("Of many gateways one adopts a shard, and all logs arrive once")
    func rivals() throws {
        let machines = (0..<4).map { trial.machine("gw-\($0)") }
        let fleets = try machines.map { try trial.start($0) }
        for (index, fleet) in fleets.enumerated() {
            #expect(fleet.store(index * 100..<index * 100 + 100) == .stored)
        }
        machines[0].view.isReachable = false
        machines[1].view.isReachable = false
        let sinks = try fleets[2...].map { try trial.sink($0) }
        #expect(eventually { sinks.reduce(0) { $0 + $1.numbers.count } >= 400 })
        #expect(eventually { (try? trial.shards.count) == 2 })
        #expect(sinks.flatMap(\.numbers).sorted() == Array(0..<400))
        func sum() -> Ledger { fleets[2...].reduce(Ledger()) { $0 + $1.status.ledger } }
        #expect(eventually { sum().delivered == 400 })
        let sum = sum()
        #expect(sum.accepted == 400 && sum.delivered == 400 && sum.isClosed)
    }

    @Test("Of survivors that reach the servers slowly one takes the shard", arguments: [2, 4])
    func oneHeir(survivors: Int) throws {
        let machines = (0...survivors).map { trial.machine("gw-\($0)") }
        for machine in machines { machine.slowness = 5 }
        let fleets = try machines.map { try trial.start($0) }
        for machine in machines { machine.view.distance = .milliseconds(15) }
        for round in 0..<3 {
            let dying = trial.machine("dying-\(round)")
            dying.slowness = 5
            let dead = try trial.start(dying)
            #expect(dead.store(1...20) == .stored)
            let shard = try dead.home()
            let log = try #require(trial.cluster.memory(of: shard))
            // It is there until all have seen it.
            let count = survivors + round + 2
            #expect(eventually { fleets.allSatisfy { $0.status.fleet?.shardsOfCluster == count } })
            dying.view.isReachable = false
            func heirs() -> Int { fleets.count { $0.has(shard) } }
            #expect(eventually { heirs() > 0 })
            #expect(eventually { fleets.allSatisfy { $0.status.fleet?.adopting == nil } })
            #expect(log.epochs.last == 2, "one epoch for one death")
            #expect(heirs() == 1)
        }
        #expect(fleets.allSatisfy { $0.status.fleet?.losses == 0 })
    }

    @Test("An owner that is back while another gateway reads its log has its shard again")
    func ownerBack() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let owner = try trial.start(a)
        #expect(owner.store(1...50) == .stored)
        let shard = try owner.home()
        let log = try #require(trial.cluster.memory(of: shard))
        let reader = try trial.start(b)
        #expect(reader.wait { $0.fleet?.shardsOfCluster == 2 })
        log.holdReads(true)
        defer { log.holdReads(false) }
        a.view.isReachable = false
        #expect(reader.wait { $0.fleet?.adopting == shard })
        a.view.isReachable = true
        let isSeen = reader.wait { status in
            status.fleet?.others.contains { $0.isAlive && $0.shards == [shard] } ?? false
        }
        #expect(isSeen)
        log.holdReads(false)
        #expect(reader.wait { $0.fleet?.adopting == nil })
        #expect(owner.storeUntilTaken(51...60))
        let sink = try trial.sink(owner)
        #expect(sink.waitFor(1...60) && sink.numbers.count == 60)
        #expect(try owner.home() == shard && owner.status.fleet?.losses == 0)
        #expect(!log.epochs.contains(2) && reader.status.fleet?.adoptions == 0)
    }

    @Test("A second gateway of one name waits until the first has ended")
    func namesake() throws {
        let (one, two) = (trial.machine("a"), trial.machine("a"))
        let older = try trial.start(one)
        #expect(older.store(1...5) == .stored)
        let opening = try FleetOpening(two.settings(), two.view, trial.recorder.journal)
        for _ in 0..<3 {
            #expect {
                _ = try opening.open()
            } throws: { error in
                "\(error)".contains("another gateway of the cluster has the name a")
                    && (error as? CommitLogError)?.kind == .unreachable
            }
        }
        #expect(older.store(6...10) == .stored && older.status.fleet?.losses == 0)
        // Those who wait do not keep each other waiting.
        let waiting = try FleetMessages(
            two.view.messenger(for: "a", trial.recorder.journal),
            node: "a",
            life: "waits",
            keyFingerprint: nil,
            repeatsMax: 0,
            repeatsAgeMax: .zero
        )
        let look = try trial.openView()
        waiting.use(key: try #require(look.registers()[MessageSeal.register]).value)
        try waiting.start()
        defer { waiting.stop() }
        one.view.isReachable = false
        let newer = try opening.open()
        #expect(newer.status.ledger.accepted == 10)
        newer.close()
    }

    @Test(
        "Gateways of one name that did not hear each other have a home shard each, and say that they are two"
    )
    func twins() throws {
        let (one, two) = (trial.machine("a"), trial.machine("a"))
        let older = try trial.start(one)
        #expect(older.store(1...5) == .stored)
        one.view.isReachable = false
        let newer = try trial.start(two)
        one.view.isReachable = true
        #expect(newer.status.ledger.accepted == 5)
        #expect(older.storeUntilTaken(6...10) && newer.store(11...15) == .stored)
        #expect(older.status.fleet?.shards.first?.name != newer.status.fleet?.shards.first?.name)
        #expect(eventually { trial.recorder.text.contains("two gateways have one name") })
    }

    @Test("A shard whose log has lost its end is not adopted, and the reason is told")
    func lostTail() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let dead = try trial.start(a)
        let other = try trial.start(b)
        let shard = try dead.home()
        for number in 1...20 { #expect(dead.store([number]) == .stored) }
        // Its register has told how far it is.
        #expect(other.wait { $0.fleet?.others.first?.ledger.accepted == 20 })
        a.view.isReachable = false
        trial.cluster.memory(of: shard)?.loseEnd(5)
        #expect(other.wait { $0.fleet?.refusedOrphans[shard] != nil })
        let reason = other.status.fleet?.refusedOrphans[shard] ?? ""
        #expect(reason.contains("the servers have lost entries"), "\(reason)")
        #expect(other.status.fleet?.adoptions == 0)
        #expect(other.store([21]) == .stored)
    }

    @Test("Each gateway goes on telling why it does not adopt a shard while another one reads it")
    func lostTailForAll() throws {
        let machine = trial.machine("a")
        let dead = try trial.start(machine)
        let shard = try dead.home()
        for number in 1...20 { #expect(dead.store([number]) == .stored) }
        let others = try ["b", "c"].map { try trial.start(trial.machine($0)) }
        for other in others {
            #expect(
                other.wait { $0.fleet?.others.contains { $0.ledger.accepted == 20 } ?? false }
            )
        }
        trial.cluster.memory(of: shard)?.loseEnd(5)
        machine.view.isReachable = false
        for other in others { #expect(other.wait { $0.fleet?.refusedOrphans[shard] != nil }) }
        // Each of them tries about ten times in this time.
        let isForgotten = eventually(within: .seconds(1)) {
            others.contains { $0.status.fleet?.refusedOrphans[shard] == nil }
        }
        #expect(!isForgotten)
    }

    @Test("A running gateway whose log loses its end takes no more logs, and tells why")
    func lostTailMeanwhile() throws {
        let gateway = try trial.start(trial.machine("a"))
        let shard = try gateway.home()
        for number in 1...20 { #expect(gateway.store([number]) == .stored) }
        trial.cluster.memory(of: shard)?.loseEnd(5)
        #expect(gateway.store([21]) == .refused(.failing))
        #expect(gateway.wait { $0.problem?.description.contains("ends with entry") ?? false })
        #expect(gateway.store([22]) == .refused(.failing))
    }

    @Test("A shard belongs to a gateway that lives, or is told as unattended, at each moment")
    func unattended() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let lost = try trial.start(a)
        let shard = try lost.home()
        #expect(lost.storeDead(1) == .stored)
        let heir = try trial.start(b)
        #expect(heir.wait { $0.fleet?.others.contains { $0.shards.contains(shard) } ?? false })
        a.view.isReachable = false
        // The heir may not be faster than this test looks.
        let log = try #require(trial.cluster.memory(of: shard))
        log.holdReads(true)
        var (unattended, astray) = (0, 0)
        let isAdopted = eventually {
            guard let fleet = heir.status.fleet else { return false }
            if heir.letterShards.contains(shard) || fleet.absorptions == 1 { return true }
            if fleet.unattended.contains(shard) {
                unattended += 1
                log.holdReads(false)
            } else if !fleet.others.contains(where: { $0.isAlive && $0.shards.contains(shard) }) {
                astray += 1
            }
            return false
        }
        #expect(isAdopted)
        #expect(unattended > 0)
        #expect(astray == 0)
        #expect(heir.wait { $0.fleet?.unattended == [] })
    }

    @Test("A gateway that lost its disk does not start on a log that has lost its end")
    func lostTailAtStart() throws {
        let a = trial.machine("a")
        let dead = try trial.start(a)
        let shard = try dead.home()
        for number in 1...20 { #expect(dead.store([number]) == .stored) }
        let view = try trial.openView()
        #expect(
            eventually {
                let own = (try? view.registers())?.values.lazy.compactMap { NodeRegister($0.value) }
                return own?.contains { ($0.entries[shard] ?? 0) >= 20 } ?? false
            }
        )
        a.view.isReachable = false
        trial.cluster.memory(of: shard)?.loseEnd(5)
        // A supervisor starts it again and again.
        for _ in 0..<3 {
            #expect {
                _ = try trial.start(trial.machine("a"))
            } throws: { "\($0)".contains("the servers have lost entries") }
        }
        // No start leaves a register behind but those that tell how far the log was.
        #expect(try view.registers().keys.filter { $0.hasPrefix(NodeRegister.prefix) }.count == 1)
    }

    @Test("What an earlier life told of a shard stays until the shard is gone, listed or not")
    func toldByEarlierLife() throws {
        let view = try trial.openView()
        let shard = "b~0a1b2c3d"
        let log = view.log(of: shard)
        try log.open(makes: true)
        var earlier = NodeRegister(node: "a", life: "00000001")
        (earlier.shards, earlier.entries) = ([shard: 7], [shard: 100])
        var reading = NodeRegister(node: "a", life: "00000002")
        reading.shards = [shard: NodeRegister.readingEpoch]
        for register in [earlier, reading] { try view.set(register.name, to: register.bytes) }
        // Brokers elect.
        trial.cluster.leaveOut([shard])
        let gateway = try trial.start(trial.machine("a"))
        let left = try view.registers()
        #expect(left[earlier.name] != nil && left[reading.name] == nil)
        trial.cluster.leaveOut([])
        #expect(gateway.wait { $0.fleet?.refusedOrphans[shard]?.contains("lost entries") ?? false })
    }

    @Test("A gateway that stops at once leaves the name of its home shard")
    func shortLife() throws {
        let view = try trial.openView()
        for _ in 0..<40 {
            let fleet = try trial.start(trial.machine("a"))
            let home = try fleet.home()
            fleet.close()
            let left = try view.registers().values.compactMap { NodeRegister($0.value) }
            #expect(left.contains { $0.isStopped && $0.home == home && $0.shards[home] != nil })
        }
    }

    @Test("A start waits for a shard that the servers do not list yet")
    func unlistedHome() throws {
        let machine = trial.machine("a")
        let first = try trial.start(machine)
        #expect(first.store(1...5) == .stored)
        let shard = try first.home()
        first.close()
        trial.cluster.leaveOut([shard])
        // Also without a disk, and without undelivered logs in it.
        for machine in [machine, trial.machine("a")] {
            let journal = trial.recorder.journal
            let opening = try FleetOpening(machine.settings(), machine.view, journal)
            #expect {
                _ = try opening.open()
            } throws: {
                ($0 as? CommitLogError)?.kind == .unreachable && "\($0)".contains("do not list")
            }
        }
        trial.cluster.leaveOut([])
        let again = try trial.start(machine)
        #expect(again.status.fleet?.shards.map(\.name) == [shard])
        #expect(again.status.ledger.queued == 5)
    }

    @Test("A gateway does not adopt the shards of another cluster with the same name")
    func otherCluster() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        (a.keyFingerprint, b.keyFingerprint) = ("1", "2")
        let dead = try trial.start(a)
        #expect(dead.store(1...5) == .stored)
        let other = try trial.start(b)
        #expect(other.wait { $0.fleet?.others.map(\.name) == ["a"] })
        #expect(
            eventually {
                trial.recorder.text.contains(
                    "a gateway of another cluster has the same cluster name"
                )
            }
        )
        a.view.isReachable = false
        #expect(other.wait { $0.fleet?.refusedOrphans.count == 1 })
        #expect(trial.recorder.text.contains("shard cannot be adopted"))
        #expect(other.status.fleet?.shards.count == 1 && other.status.fleet?.adoptions == 0)
    }

    @Test("A lost key of the messages comes back")
    func lostKey() throws {
        let machine = trial.machine("a")
        _ = try trial.start(machine)
        let view = try trial.openView()
        let key = try #require(try view.registers()[MessageSeal.register]?.value)
        try view.set(MessageSeal.register, to: nil)
        #expect(eventually { (try? view.registers()[MessageSeal.register]?.value) == key })
    }

    @Test("Gateways that keep logs differently are told, and adopt each other's shards")
    func unlikeDurability() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        b.view.durability = LogDurability(copies: 1, isSynced: false)
        let dead = try trial.start(a)
        #expect(dead.store(1...5) == .stored)
        let heir = try trial.start(b)
        #expect(
            eventually {
                trial.recorder.text.contains("the gateways of the cluster do not keep logs alike")
                    && trial.recorder.text.contains(
                        "its logs have 3 copies, and this gateway's one copy without syncs"
                    )
            }
        )
        a.view.isReachable = false
        #expect(heir.wait { $0.fleet?.adoptions == 1 })
    }

    @Test("Logs of destinations that the heir does not have wait for it to get them")
    func strangers() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        a.destinations = ["app", "extra"]
        let dead = try trial.start(a)
        #expect(dead.store(1...5) == .stored)
        #expect(dead.store(6...9, destination: "extra") == .stored)
        let heir = try trial.start(b)
        let sink = try trial.sink(heir, destinations: ["app", "extra"])
        a.view.isReachable = false
        #expect(sink.waitFor(1...5))
        #expect(heir.wait { $0.ledger.queued == 4 } && sink.unrequested == 1)
        heir.apply(["app": DestinationRules(), "extra": DestinationRules()])
        #expect(sink.waitFor(6...9))
        #expect(heir.wait { $0.fleet?.absorptions == 1 })
    }

    @Test("A log that vanished with undelivered logs keeps its gateway from a start")
    func vanished() throws {
        let a = trial.machine("a")
        let gateway = try trial.start(a)
        #expect(gateway.store(1...5) == .stored)
        gateway.close()
        let shard = try #require(try trial.shards.first)
        let view = try trial.openView()
        try view.remove(shard)
        #expect { try trial.start(a) } throws: { error in
            (error as? CommitLogError)?.description.contains("5 undelivered logs") ?? false
        }
        // That is what an absorption leaves.
        try view.set("gone.\(shard)", to: [])
        let again = try trial.start(a)
        #expect(again.status.ledger.accepted == 0)
    }

    private func size(of file: String) -> Int {
        (try? fileContent(file, bytesMax: 64 << 20).count) ?? 0
    }

    @Test("A shard whose log has lost its end is not adopted, and its copy stays for the operator")
    func lostEnd() throws {
        let a = trial.machine("a")
        let first = try trial.start(a)
        #expect(first.store(1...5) == .stored)
        let shard = try first.home()
        first.close()
        // Another gateway had it last, so that it is not this one's home, and is dead.
        let view = try trial.openView()
        var dead = NodeRegister(node: "b", life: "00000001")
        dead.shards = [shard: 99]
        try view.set(dead.name, to: dead.bytes)
        trial.cluster.memory(of: shard)?.loseEnd(2)
        let copy = "\(a.directory.path)/shards/\(shard)/scratch.db"
        #expect(size(of: copy) > 0)
        let again = try trial.start(a)
        #expect(
            again.wait { $0.fleet?.refusedOrphans[shard]?.contains("ends with entry") ?? false }
        )
        #expect(size(of: copy) > 0)
    }

    @Test("A second gateway does not get the directory of a running one")
    func directory() throws {
        let a = trial.machine("a")
        _ = try trial.start(a)
        #expect(throws: CommitLogError.self) { try trial.start(a) }
    }

    @Test("An absorption that is cut off is gone on with by the next owner of both shards")
    func cutOffAbsorption() throws {
        let (a, b, c) = (trial.machine("a"), trial.machine("b"), trial.machine("c"))
        let dead = try trial.start(a)
        #expect(dead.store(1...5) == .stored && dead.storeDead(6) == .stored)
        let left = try dead.home()
        a.view.isReachable = false
        // It can do all but remove the log of the shard that it has absorbed.
        b.view.refusesRemovals = true
        let first = try trial.start(b)
        let sink = try trial.sink(first)
        #expect(sink.waitFor(1...5))
        #expect(eventually { trial.recorder.text.contains("shard is not absorbed yet") })
        b.view.isReachable = false
        // The second heir has both now: what was absorbed, and the log that is still there.
        let second = try trial.start(c)
        #expect(second.wait { $0.fleet?.absorptions == 2 })
        #expect(try trial.shards.count == 1 && !trial.shards.contains(left))
        let ledger = second.status.ledger
        #expect(ledger.accepted == 6 && ledger.delivered == 5 && ledger.dead == 1)
    }

    @Test("A gateway that was killed between two steps of an absorption goes on with it")
    func killedAbsorption() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let dead = try trial.start(a)
        #expect(dead.store(1...5) == .stored && dead.storeDead(6) == .stored)
        a.view.isReachable = false
        b.view.refusesRemovals = true
        let first = try trial.start(b)
        let sink = try trial.sink(first)
        #expect(sink.waitFor(1...5))
        #expect(eventually { trial.recorder.text.contains("shard is not absorbed yet") })
        sink.stop()
        first.close()
        b.view.refusesRemovals = false
        let again = try trial.start(b)
        #expect(again.wait { $0.fleet?.absorptions == 1 })
        #expect(try trial.shards.count == 1)
        let ledger = again.status.ledger
        #expect(ledger.accepted == 6 && ledger.delivered == 5 && ledger.dead == 1)
    }

    @Test("A gateway that comes back while its shard is absorbed gets another one")
    func absorbedMeanwhile() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        let first = try trial.start(a)
        #expect(first.store(1...5) == .stored)
        let left = first.status.fleet?.shards.first?.name
        first.close()
        b.view.refusesRemovals = true
        let heir = try trial.start(b)
        let sink = try trial.sink(heir)
        #expect(sink.waitFor(1...5))
        #expect(eventually { trial.recorder.text.contains("shard is not absorbed yet") })
        let again = try trial.start(a)
        #expect(again.store(6...9) == .stored && again.status.ledger.accepted == 4)
        #expect(again.status.fleet?.shards.first?.name != left)
        b.view.refusesRemovals = false
        #expect(eventually { (try? trial.shards.count) == 2 })
        #expect(again.store(10...11) == .stored && again.status.ledger.accepted == 6)
    }

    @Test("Letters of all shards are listed, found and changed by their ids")
    func letters() throws {
        let (a, b) = (trial.machine("a"), trial.machine("b"))
        a.destinations = ["app", "extra"]
        let dead = try trial.start(a)
        // Keeps the shard from being absorbed.
        #expect(dead.store([9], destination: "extra") == .stored)
        for number in 1...3 { #expect(dead.storeDead(number) == .stored) }
        let heir = try trial.start(b)
        for number in 4...6 { #expect(heir.storeDead(number) == .stored) }
        a.view.isReachable = false
        #expect(heir.wait { $0.fleet?.shards.count == 2 })
        // A lost gateway whose shard this one has is not counted again.
        #expect(heir.wait { $0.fleet?.others == [] && $0.ledger.accepted == 7 })
        var ids: [Int64] = []
        for shard in heir.letterShards {
            var next = heir.letterID(LetterName(shard: shard, number: 0))
            while let position = next {
                let page = try heir.deadLetters(matching: .init(), after: position, limit: 2)
                ids += page.letters.map(\.id)
                next = page.next
            }
        }
        #expect(ids.count == 6 && Set(ids).count == 6)
        let names = ids.map { heir.letterName($0) }
        #expect(Set(names.map(\.shard)) == Set(heir.letterShards))
        #expect(names.map { heir.letterID($0) } == ids)
        #expect(names.allSatisfy { $0.number > 0 })
        for shard in heir.letterShards {
            for number in [1 << 48, Int64.max, -1] {
                #expect(heir.letterID(LetterName(shard: shard, number: number)) == nil)
            }
        }
        #expect(heir.letterID(LetterName(shard: nil, number: 1)) == nil)
        #expect(heir.letterID(LetterName(shard: "c~0a1b2c3d", number: 1)) == nil)
        #expect(heir.deadLetterSums.map(\.letters) == [6])
        #expect(try ids.allSatisfy { try heir.deadLetter($0)?.id == $0 })
        let changes = Awaited<DeadLetterChange>()
        heir.change(.purge, .ids([ids[0], ids[5]])) { changes.put($0) }
        #expect(changes.take(1)[0].changed == 2)
        heir.change(.purge, .matching(DeadLetterFilter(code: "Wrong"))) { changes.put($0) }
        let change = changes.take(1)[0]
        #expect(change.changed == 4 && change.effects["app"]?.discarded == 4)
        #expect(heir.status.ledger.discarded == 6 && heir.status.ledger.isClosed)
    }
}
