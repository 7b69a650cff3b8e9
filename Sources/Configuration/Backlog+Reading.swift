import Queue
import System

extension Destination.Backlog {
    /// `queue` has what holds where the destination says nothing.
    static func read(
        _ section: inout Section,
        logstore: Destination.Logstore?,
        queue: QueueSettings
    ) -> Destination.Backlog {
        var backlog = Destination.Backlog()
        backlog.bytesMax = section.value("max_bytes", .size(1 << 20...1 << 50))
        if let bytes = backlog.bytesMax, bytes > queue.bytesMax,
            !section.report.hasProblem(with: "queue.max_bytes")
        {
            section.problem(
                "max_bytes",
                "\(sizeText(bytes)) is beyond queue.max_bytes (\(sizeText(queue.bytesMax))), so it "
                    + "would never be reached; lower it, or raise queue.max_bytes"
            )
        }
        backlog.ageMax = section.value("max_age", QueueSettings.age)
        backlog.overflow = section.value("overflow", .overflow) ?? queue.overflow
        backlog.freshPercent = section.value("fresh_first", .freshPercent) ?? queue.freshPercent
        if let count = section.value("logstores_max", .count(1...10_000)) {
            backlog.logstoresMax = count
        }
        if section.has("logstores_max"), case .named(let name) = logstore {
            section.problem(
                "logstores_max",
                "there is one logstore, \(name); write logstore: \"*\", or remove logstores_max"
            )
        }
        return backlog
    }
}

extension Kind<DestinationRules.Overflow> {
    static var overflow: Kind { .choice(["reject": .reject, "drop_oldest": .dropOldest]) }
}

extension Kind<Int> {
    /// Beyond it a backlog might never end.
    static var freshPercent: Kind { .percent(upTo: 90) }
}
