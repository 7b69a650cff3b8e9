import Foundation
import Queue
import System
import TestCommitLog
import TestSupport
import Testing

@testable import Fleet

/// What a fleet asks of its servers, the more gateways it has. `SLUICE_GATEWAYS=100` makes it as
/// large as that.
@Suite(.timeLimit(.minutes(10))) struct LargeFleetTests {
    private static let large =
        ProcessInfo.processInfo.environment["SLUICE_GATEWAYS"].flatMap { Int($0) } ?? 20
    /// So many gateways are started at a time.
    private static let startedTogether = 4

    /// What each gateway asks in a heartbeat.
    private struct Share {
        var listed = 0.0
        var read = 0.0
        var delivered = 0.0
        var confirmed = 0.0
    }

    /// A fleet whose gateways store requests all the time.
    private final class Fleet {
        let trial = FleetTrial()
        private(set) var gateways: [ShardFleet] = []
        private let isOver = SharedValue(false)
        private var devices: [Worker] = []
        /// Real seconds are the unit: a hundred gateways share two cores.
        private let slowness: Int

        init(of size: Int) throws {
            slowness = max(50, size)
            let trial = trial
            for number in 1...size {
                let machine = trial.machine("gw-\(number)")
                machine.slowness = slowness
                gateways.append(try trial.start(machine))
            }
        }

        var heartbeat: Duration { .milliseconds(30) * slowness }

        /// Waits until each gateway has seen all others.
        func waitUntilComplete() -> Bool {
            eventually { [gateways] in
                gateways.allSatisfy { fleet in
                    fleet.status.fleet?.others.count { $0.isAlive } == gateways.count - 1
                }
            }
        }

        func beginStoring() throws {
            let isOver = isOver
            for start in 0..<LargeFleetTests.startedTogether {
                let some = gateways.enumerated().filter {
                    $0.offset % LargeFleetTests.startedTogether == start
                }.map(\.element)
                let device = try Worker("device") {
                    var number = 0
                    while !isOver.now {
                        for gateway in some where !isOver.now {
                            number += 1
                            let identity = BatchIdentity(
                                digest: (0..<16).map { _ in .random(in: 0...255) },
                                receipt: Array("r-\(number)".utf8),
                                logs: 1
                            )
                            _ = gateway.store([number], identity: identity)
                        }
                    }
                }
                devices.append(device)
            }
        }

        func share(during beats: Int) -> Share {
            let (before, began) = (trial.cluster.figures, Moment.now)
            Thread.sleep(forTimeInterval: Double((heartbeat * beats).milliseconds) / 1000)
            let (after, time) = (trial.cluster.figures, Moment.now - began)
            let each = Double(gateways.count) * (time / heartbeat)
            return Share(
                listed: Double(after.listed - before.listed) / each,
                read: Double(after.registersRead - before.registersRead) / each,
                delivered: Double(after.delivered - before.delivered) / each,
                confirmed: Double(after.confirmations - before.confirmations) / each
            )
        }

        func end() {
            isOver.change { $0 = true }
            for device in devices { device.join() }
            trial.end()
        }
    }

    @Test("Lists grow with the fleet, not with its square, and a message is told less often")
    func growth() throws {
        let fleet = try Fleet(of: Self.large)
        defer { fleet.end() }
        #expect(fleet.waitUntilComplete())
        try fleet.beginStoring()
        let share = fleet.share(during: 8)
        print("a heartbeat of each of \(Self.large) gateways:", share)
        // Each lists all logs once in a fifth of its size of heartbeats, and asks about few others.
        #expect(share.listed <= 5 * 1.5 + 2)
        #expect(share.confirmed <= 1.5)
        // 10 ms for ten gateways.
        let messages = Double(fleet.heartbeat.milliseconds) / 10 * 10
        #expect(share.delivered <= messages * 1.2)
    }
}
