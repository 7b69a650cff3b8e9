import Logs
import Queue
import System
import TestSupport
import Testing

@testable import SQLiteQueue

extension FailureTests {
    @Test("What a failed transaction would have lost is neither told nor counted")
    func lossesOnce() throws {
        DiskFault.set(.none)
        defer { DiskFault.set(.none) }
        var configuration = QueueConfiguration.small(directory.path + "/faulty")
        configuration.ageMax = .seconds(60)
        configuration.tuning.housekeeping = .zero
        let clock = ManualClock()
        let lines = Awaited<[UInt8]>()
        let journal = Journal(level: .warning, format: .json) { lines.put($0) }
        do {
            let store = try DurableQueue(configuration, journal: .silent, clock: clock.queueClock)
            _ = store.store(Batch(stream: .named("a"), logs: logs(0..<10)))
            store.flush("app")
            _ = Consumer(store).packets(1)
            store.close()
        }
        let door = try QueueHandle(configuration)
        let owner = try QueueOwner(configuration, door, clock.queueClock, journal)
        clock.advance(.seconds(61))
        DiskFault.set(.writeError)
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.store == nil)
        DiskFault.set(.none)
        #expect(reopens(owner))
        owner.doHousekeeping(isQuiet: true)
        #expect(owner.store?.destinations.named("app").ledger.expired == 10)
        let said = lines.take(2).map { String(decoding: $0, as: UTF8.self) }
        #expect(said[0].contains("cannot be written"))
        #expect(said[1].contains("logs expired") && said[1].contains("\"logs\":10"))
    }
}
