import Queue
import TestSupport

@testable import SQLiteQueue

/// With what a sequence begins, as numbers.
struct Settings: Equatable {
    var rowBytes = 64 << 10
    var recentBytes = 1 << 20
    var idleStreams = 3
    var checkpointBytes = 4 << 20
    /// 0 has no bound.
    var bytes = 0
    /// Seconds.
    var age = 7 * 86_400
    var deadAge = 30 * 86_400
    var rules = [Rules(), Rules()]
    /// Transactions go to a commit log, whose answers are lost now and then.
    var hasCommitLog = false

    static let destinations = ["app", "other"]
    private static let logstores = ["x", "y", "z"]

    static func outlet(_ number: Int) -> Outlet {
        Outlet(
            destination: destinations[number % 2],
            logstore: logstores[number / 2 % logstores.count]
        )
    }

    /// Two streams of each outlet.
    static func stream(_ number: Int) -> StreamKey {
        let outlet = outlet(number)
        return .named(
            "\(number / 6 % 2)",
            destination: outlet.destination,
            logstore: outlet.logstore
        )
    }

    static let outlets = (0..<6).map { outlet($0) }

    func configuration(_ directory: String) -> QueueConfiguration {
        var configuration = QueueConfiguration.small(directory)
        configuration.durability = .normal
        if bytes > 0 { configuration.bytesMax = bytes }
        configuration.ageMax = .seconds(age)
        configuration.deadLetterAgeMax = .seconds(deadAge)
        configuration.tuning.rowBytes = rowBytes
        configuration.tuning.recentBytesMax = recentBytes
        configuration.tuning.idleStreams = idleStreams
        configuration.tuning.checkpointBytes = checkpointBytes
        // Only when an operation says so.
        configuration.tuning.housekeeping = .seconds(1_000_000)
        configuration.tuning.retryMin = .zero
        configuration.tuning.retryMax = .zero
        for (name, rules) in zip(Self.destinations, rules) {
            configuration.destinations[name] = DestinationRules(rules)
        }
        return configuration
    }
}

extension DestinationRules {
    init(_ rules: Rules) {
        self.init(
            packet: PacketLimits(
                rawBytes: rules.packetBytes,
                logs: rules.packetLogs,
                age: .seconds(rules.packetAge)
            )
        )
        bytesMax = rules.bytes > 0 ? rules.bytes : nil
        ageMax = rules.age > 0 ? .seconds(rules.age) : nil
        overflow = rules.dropsOldest ? .dropOldest : .reject
        freshPercent = rules.fresh
        lanes = rules.lanes
        lateLogs = rules.late
        logstoresMax = rules.logstores
    }
}
