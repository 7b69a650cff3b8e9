import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// What the lines of an outlet keep.
@Suite struct LinesTests {
    let directory = TemporaryDirectory()
    let clock = ManualClock()

    @Test(
        "Devices that come and go while nothing is delivered leave no trail in the lines",
        arguments: [1, 1000]
    )
    func forgotten(logsOfPacket: Int) throws {
        var configuration = QueueConfiguration.small(
            directory.path,
            packets: PacketLimits(logs: logsOfPacket, age: .seconds(1))
        )
        configuration.ageMax = .seconds(60)
        configuration.tuning.idleStreams = 0
        let (store, _) = try OpenStore.open(
            directory.path + "/queue.db",
            configuration,
            now: clock.queueClock.now,
            handed: []
        )
        let outlet = Outlet.named("app-log")
        let stays = Batch(stream: .named("stays"), logs: logs(0..<1))
        for round in 0..<500 {
            let comes = Batch(stream: .named("\(round)"), logs: logs(0..<1))
            #expect(try store.intake.stage([comes, stays]) == nil)
            try store.intake.writeStaged()
            clock.advance(.seconds(61))
            store.expiry.look()
            _ = try store.expiry.expire(until: .now + .seconds(60))
            // The one that stays has something always.
            #expect(try store.intake.stage([stays]) == nil)
            try store.intake.writeStaged()
            try store.commit()
        }
        let queued = try #require(store.destinations["app"]?.outlets[outlet.logstore])
        #expect(queued.streamCount <= 2)
        #expect(queued.filed <= 2 * queued.streamCount + 64)
        // Nobody who is here was forgotten with them.
        clock.advance(.seconds(2))
        var demand = Demand()
        demand.raise(outlet, by: 10)
        let topics = try store.handOver.packets(for: demand).map(\.stream.trailer.topic)
        #expect(topics == ["stays"])
        try store.commit()
    }
}
