package import Queue

extension Destination {
    /// What may wait for it in the queue, and in which order it goes.
    package struct Backlog: Sendable, Equatable {
        /// Absent, the queue's own bound is the only one.
        package var bytesMax: Int?
        /// Absent, it is the queue's.
        package var ageMax: Duration?
        package var overflow = DestinationRules.Overflow.reject
        /// 0 to 90.
        package var freshPercent = 0
        /// Of a destination that takes every logstore.
        package var logstoresMax = 100
    }
}
