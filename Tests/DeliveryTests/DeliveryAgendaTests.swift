import Configuration
import Crypto
import Logs
import Queue
import SLS
import System
import TestSupport
import Testing

@testable import Delivery

/// Which destinations and outlets a turn looks at.
@Suite(.timeLimit(.minutes(10))) struct DeliveryAgendaTests {
    let now = Moment.now
    let shared = DeliveryThreadState(memoryMax: 64 << 20, BodyEncoders {})
    let source = MemorySource()

    private func destinations(_ count: Int) throws -> [DestinationSender] {
        try (0..<count).map { number in
            let settings = try Samples.destination(port: 1, name: "d\(number)")
            return try destination(settings, Locked(DestinationStatus(settings)))
        }
    }

    private func destination(
        _ settings: Destination,
        _ status: Locked<DestinationStatus>
    ) throws -> DestinationSender {
        DestinationSender(
            try SLSOutput(settings, userAgent: "sluice"),
            shared,
            status: status,
            DestinationSender.Dependencies(
                source: source,
                credentials: CredentialDoor { _ in
                    Credential(accessKeyID: "id", secret: Secret("secret"))
                },
                journal: .silent,
                now: { .now }
            )
        )
    }

    /// As the loop does, without sending. Returns what was looked at.
    @discardableResult
    private func turn(_ all: [DestinationSender], after seconds: Int = 0) -> [String] {
        let time = now + .milliseconds(seconds * 1000)
        let due = shared.agenda.take(time).map { all[$0.number] }
        for destination in due { destination.advance(time) }
        for destination in due { destination.endTurn(time) }
        return due.map(\.settings.name)
    }

    private func packet(_ number: Int64, of destination: String, _ logstore: String) -> SealedPacket
    {
        SealedPacket(
            id: .home(number),
            stream: StreamKey(
                destination: destination,
                logstore: logstore,
                trailer: GroupTrailer(bytes: [])
            ),
            streamID: .any,
            packID: "p",
            rows: number...number,
            logCount: 1,
            rawBytes: 1,
            oldest: .now,
            recent: nil,
            lane: nil,
            isRecovered: false
        )
    }

    private let refusal = DeliveryFailure(
        kind: .unauthorized,
        result: .sendUnauthorized,
        logstore: "l",
        status: 401,
        code: "Unauthorized",
        message: "denied",
        requestID: nil,
        remedy: "grant it",
        at: .now
    )

    @Test("To try again looks at all, since they share the gates that it opens")
    func tryAgain() throws {
        let all = try destinations(3)
        turn(all)
        #expect(turn(all) == [])
        all[0].gates.endpoint.gate.pause(now, random: 1)
        all[0].tryAgain()
        #expect(all[2].gates.endpoint.gate.permits(Moment.now), "it is the same endpoint")
        #expect(turn(all) == ["d0", "d1", "d2"])
    }

    @Test("A destination that has left is never looked at, though others may know it")
    func left() throws {
        let all = try destinations(3)
        turn(all)
        let gate = all[0].gates.endpoint
        gate.waiters.add(all[1].agendaEntry)
        all[1].agendaEntry.done(hasMore: false, next: now + .seconds(1))
        all[1].agendaEntry.markDue()
        all[1].gates.leave()
        all[1].agendaEntry.leave()
        #expect(gate.users == 2)
        gate.waiters.wake()
        #expect(turn(all) == [])
        #expect(turn(all, after: 5) == ["d0", "d2"])
        #expect(shared.agenda.join().number == 3)
    }

    @Test("A closed gate whose probe is due keeps nothing back where nothing is queued")
    func inTheWay() throws {
        for scope in [GateScope.project, .quota, .endpoint] {
            let settings = try Samples.destination(port: 1, name: "d0")
            let status = Locked(DestinationStatus(settings))
            let destination = try destination(settings, status)
            let gates = destination.gates
            func isPaused() -> Bool {
                destination.publish(now)
                return status.withLock { $0.state } != .running
            }
            #expect(!isPaused())
            switch scope {
            case .project:
                let pause = Pause(failure: refusal, scope: .project)
                gates.pauseForCredential(pause, isUndecided: false, now)
            case .quota: gates.quota.gate.pause(now, random: 1)
            default: gates.endpoint.gate.pause(now, random: 1)
            }
            #expect(isPaused(), "the probe may not go yet")
            gates.tryAgain(now)
            #expect(!isPaused(), "the next log is the probe")
            destination.take(packet(1, of: "d0", "a"))
            #expect(isPaused(), "a log waits for the probe's answer")
            destination.giveBack([.home(1)], of: "a")
            gates.quota.gate.probing = nil
            gates.endpoint.gate.probing = nil
        }
    }

    @Test("Only a destination to which something happened is looked at, and once a second all are")
    func noted() throws {
        let all = try destinations(3)
        let agenda = shared.agenda
        #expect(turn(all) == ["d0", "d1", "d2"])
        #expect(turn(all) == [])
        #expect(agenda.next == nil)
        all[1].take(packet(1, of: "d1", "a"))
        #expect(agenda.next != nil)
        #expect(turn(all) == ["d1"])
        // What it has to send waits for the network here, and nothing else happens.
        #expect(turn(all) == [])
        #expect(turn(all, after: 2) == ["d0", "d1", "d2"])
        agenda.markAllDue()
        #expect(turn(all, after: 2).count == 3)
    }

    @Test("A destination is looked at when its time has come, and by its last plan alone")
    func deadlines() throws {
        let all = try destinations(2)
        turn(all)
        let agenda = shared.agenda
        for seconds in [9, 5] {
            all[0].agendaEntry.done(hasMore: false, next: now + .seconds(seconds))
        }
        all[1].agendaEntry.done(hasMore: false, next: now + .seconds(7))
        #expect(agenda.next == now + .seconds(5))
        // Keeps the look at all away.
        agenda.markAllDue()
        #expect(agenda.take(now + .seconds(4)).count == 2)
        for seconds in [3, 5] {
            let deadline = now + .milliseconds(seconds * 1000 - 100)
            all[0].agendaEntry.done(hasMore: false, next: deadline)
        }
        all[1].agendaEntry.done(hasMore: false, next: now + .seconds(7))
        #expect(agenda.take(now + .milliseconds(4950)).map(\.number) == [0])
        all[0].agendaEntry.done(hasMore: false, next: nil)
        #expect(agenda.take(now + .milliseconds(4990)).isEmpty)
    }

    @Test("A destination that waits for a shared gate is due once when a request behind it ends")
    func waiters() throws {
        let all = try destinations(3)
        turn(all)
        all[0].gates.endpoint.waiters.add(all[1].agendaEntry)
        all[0].gates.endpoint.waiters.add(all[1].agendaEntry)
        all[0].gates.endpoint.waiters.wake()
        #expect(turn(all) == ["d1"])
        all[0].gates.endpoint.waiters.wake()
        #expect(turn(all) == [])
    }

    @Test(
        "After a rotation 10,000 paused logstores are asked for in turns of some hundred, and none is left out"
    )
    func rotation() throws {
        let all = try destinations(1)
        let destination = all[0]
        let names = (0..<10_000).map { "l\($0)" }
        for (number, name) in names.enumerated() {
            destination.take(packet(Int64(number), of: "d0", name))
        }
        while !turn(all).isEmpty {}
        let outlets = destination.outlets
        outlets.forEach { outlet in
            outlet.gate.pause(now, random: 1)
            outlet.pause = Pause(failure: refusal, scope: .logstore)
            outlets.wake(outlet)
        }
        let isSent = outlets.giveTurn(now, prefersOpen: false, admitsProbes: true) { _ in .used }
        #expect(!isSent, "all wait for their probes")
        #expect(!outlets.hasTurns)
        while outlets.dirtyCount > 0 { turn(all) }

        let start = threadTime()
        destination.credentialsChanged()
        let reopening = threadTime() - start
        #expect(outlets.turnCount == 10_000)
        #expect(outlets.dirtyCount == 10_000)
        var turns = 0
        while outlets.dirtyCount > 0 {
            turn(all)
            turns += 1
        }
        let atOnce = OutletRegistry.visitsMax
        #expect(turns == (10_000 + atOnce - 1) / atOnce)
        outlets.forEach { #expect(!$0.isDirty) }
        // A generous bound: a quadratic pass took seconds in a debug build.
        #expect(reopening < .milliseconds(500).calibrated(), "\(reopening)")
    }
}
