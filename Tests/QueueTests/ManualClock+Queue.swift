import Queue
import TestSupport

@testable import SQLiteQueue

extension ManualClock {
    var queueClock: QueueClock { QueueClock { self.now } }
}
