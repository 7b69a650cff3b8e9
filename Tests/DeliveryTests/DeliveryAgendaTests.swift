import Crypto
import Logs
import Queue
import SLS
import System
import Testing

@testable import Delivery

/// Which destinations and outlets a turn looks at.
@Suite(.timeLimit(.minutes(1))) struct DeliveryAgendaTests {
    let now = Moment.now
    let states = EndpointStates()
    let source: MemorySource

    init() throws {
        source = try MemorySource()
    }

    private func destinations(_ count: Int) throws -> [DestinationSender] {
        try (0..<count).map { number in
            let settings = try Samples.destination(port: 1, name: "d\(number)")
            return DestinationSender(
                try SLSOutput(settings, userAgent: "sluice"),
                states,
                Locked(DestinationStatus(settings)),
                DestinationSender.Surroundings(
                    source: source,
                    credentials: CredentialDoor { _ in
                        Credential(accessKeyID: "id", secret: Secret("secret"))
                    },
                    journal: .silent,
                    now: { .now }
                )
            )
        }
    }

    /// As the loop does, without sending. Returns what was looked at.
    @discardableResult
    private func turn(_ all: [DestinationSender], after seconds: Int = 0) -> [String] {
        let time = now + .milliseconds(seconds * 1000)
        let due = states.agenda.take(time, of: all)
        for destination in due { destination.advance(time) }
        for destination in due {
            destination.settleTurn(time)
            states.agenda.done(destination, next: destination.nextDeadline(time))
        }
        return due.map(\.settings.name)
    }

    private func packet(_ number: Int64, of destination: String, _ logstore: String) -> SealedPacket
    {
        SealedPacket(
            number: number,
            stream: StreamKey(
                destination: destination,
                logstore: logstore,
                trailer: GroupTrailer(bytes: [])
            ),
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

    @Test("To try again looks at all, since they share the gates that it opens")
    func tryAgain() throws {
        let all = try destinations(3)
        turn(all)
        #expect(turn(all) == [])
        all[0].endpoint.gate.pause(.seconds(60), now, random: 1)
        all[0].tryAgain()
        #expect(all[2].endpoint.gate.permits(Moment.now), "it is the same endpoint")
        #expect(turn(all) == ["d0", "d1", "d2"])
    }

    @Test("A closed gate whose probe is due keeps nothing back where nothing is queued")
    func inTheWay() throws {
        let destination = try destinations(1)[0]
        func isPaused() -> Bool {
            destination.publish(now)
            return destination.status.withLock { $0.state } != .running
        }
        #expect(!isPaused())
        for pause in [0, 1, 2] {
            func change(_ change: (inout Gate) -> Void) {
                switch pause {
                case 0: change(&destination.project)
                case 1: change(&destination.quota.gate)
                default: change(&destination.endpoint.gate)
                }
            }
            change { $0.pause(.seconds(60), now, random: 1) }
            #expect(isPaused(), "the probe may not go yet")
            // As a rotation does.
            change { $0.reopen(now) }
            #expect(!isPaused(), "the next log is the probe")
            destination.take(packet(Int64(pause), of: "d0", "a"))
            #expect(isPaused(), "a log waits for the probe's answer")
            destination.giveBack([Int64(pause)], of: "a")
            change { $0.probing = nil }
            while destination.turns.next() != nil {}
        }
    }

    @Test("Only a destination to which something happened is looked at, and once a second all are")
    func noted() throws {
        let all = try destinations(3)
        let agenda = states.agenda
        #expect(turn(all) == ["d0", "d1", "d2"])
        #expect(turn(all) == [])
        #expect(agenda.next == nil)
        all[1].take(packet(1, of: "d1", "a"))
        #expect(agenda.next != nil)
        #expect(turn(all) == ["d1"])
        // What it has to send waits for the network here, and nothing else happens.
        #expect(turn(all) == [])
        #expect(turn(all, after: 2) == ["d0", "d1", "d2"])
        agenda.noteEveryone()
        #expect(turn(all, after: 2).count == 3)
    }

    @Test("A destination is looked at when its time has come, and by its last plan alone")
    func deadlines() throws {
        let all = try destinations(2)
        turn(all)
        let agenda = states.agenda
        for seconds in [9, 5] { agenda.done(all[0], next: now + .seconds(seconds)) }
        agenda.done(all[1], next: now + .seconds(7))
        #expect(agenda.next == now + .seconds(5))
        // Keeps the look at all away.
        agenda.noteEveryone()
        #expect(agenda.take(now + .seconds(4), of: all).count == 2)
        for seconds in [3, 5] {
            agenda.done(all[0], next: now + .milliseconds(seconds * 1000 - 100))
        }
        agenda.done(all[1], next: now + .seconds(7))
        #expect(agenda.take(now + .milliseconds(4950), of: all).map(\.settings.name) == ["d0"])
        agenda.done(all[0], next: nil)
        #expect(agenda.take(now + .milliseconds(4990), of: all).isEmpty)
    }

    @Test("Whoever waits for a shared gate is noted once when a request behind it ends")
    func waiters() throws {
        let all = try destinations(3)
        turn(all)
        all[0].endpoint.waiters.add(all[1])
        all[0].endpoint.waiters.add(all[1])
        all[0].endpoint.waiters.wake(states.agenda)
        #expect(turn(all) == ["d1"])
        all[0].endpoint.waiters.wake(states.agenda)
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
        let failure = DeliveryFailure(
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
        for outlet in destination.outlets.values {
            outlet.gate.pause(.seconds(60), now, random: 1)
            outlet.pause = Pause(failure: failure, scope: .logstore)
            destination.turns.rouse(outlet)
        }
        while let outlet = destination.turns.next() {
            destination.turns.sleep(outlet, until: now + .seconds(60))
        }
        #expect(destination.turns.count == 0)

        let start = threadTime()
        destination.credentialsChanged()
        let reopening = threadTime() - start
        #expect(destination.turns.count == 10_000)
        #expect(destination.touched.count == 10_000)
        var turns = 0
        while destination.hasMoreToSettle {
            turn(all)
            turns += 1
        }
        #expect(
            turns == (10_000 + DestinationSender.settledAtOnce - 1)
                / DestinationSender.settledAtOnce
        )
        #expect(destination.outlets.values.allSatisfy { !$0.isTouched })
        // A generous bound: a quadratic pass took seconds in a debug build.
        #expect(reopening < .milliseconds(500), "\(reopening)")
    }
}
