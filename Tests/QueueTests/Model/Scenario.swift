import Queue
import TestSupport

@testable import SQLiteQueue

/// Settings and what happens then: all that a run depends on.
struct Scenario: Equatable {
    var settings = Settings()
    var operations: [Operation] = []
    /// What it came from, if it was random.
    var seed: UInt64 = 0
    /// After how many operations all that is on the disk is looked at.
    var auditEvery = 1

    /// Runs it next to a model, and throws where the queue does not do what the model says.
    func run() throws {
        let run = try ScenarioRun(settings, seed: seed, auditEvery: auditEvery)
        for (index, operation) in operations.enumerated() {
            do {
                try run.perform(operation)
            } catch let failure as ModelFailure {
                throw failure.at("operation \(index), \(operation.code)")
            }
        }
        do {
            try run.finish()
        } catch let failure as ModelFailure {
            throw failure.at("the end, when everything leaves")
        }
    }

    /// The same with a commit log. Damage of the disk is left out: it lasts only until the next
    /// start.
    var withCommitLog: Scenario {
        var other = self
        other.settings.hasCommitLog = true
        other.operations = operations.filter { operation in
            switch operation {
            case .damage, .salvage: false
            default: true
            }
        }
        return other
    }

    /// Why it fails; nil when it does not.
    var failure: String? {
        do {
            try run()
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// A test that can be pasted.
    var code: String {
        """
        try Scenario(
            settings: \(codeOf(settings)),
            operations: [
                \(operations.map { $0.code + "," }.joined(separator: "\n        "))
            ]
        ).run()
        """
    }
}

struct ModelFailure: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }

    func at(_ place: String) -> ModelFailure { ModelFailure("\(description) (at \(place))") }
}

/// Throws when it does not hold.
func check(_ holds: Bool, _ what: @autoclosure () -> String) throws(ModelFailure) {
    if !holds { throw ModelFailure(what()) }
}

extension Scenario {
    init(seed: UInt64) {
        self.seed = seed
        auditEvery = 8
        var generator = SeededGenerator(seed: seed)
        settings = Settings(&generator)
        let count = Int.random(in: 10...60, using: &generator)
        operations = (0..<count).map { _ in Operation(&generator) }
    }
}

extension Settings {
    fileprivate init(_ generator: inout SeededGenerator) {
        rowBytes = [100, 400, 3000, 64 << 10].randomElement(using: &generator) ?? 0
        recentBytes = [0, 3000, 1 << 20].randomElement(using: &generator) ?? 0
        idleStreams = Int.random(in: 0...3, using: &generator)
        checkpointBytes = [1, 50_000, 4 << 20].randomElement(using: &generator) ?? 0
        if oneOf(4, &generator) { bytes = Int.random(in: 10_000...40_000, using: &generator) }
        if oneOf(3, &generator) { age = [60, 600].randomElement(using: &generator) ?? 0 }
        if oneOf(2, &generator) { deadAge = 60 }
        rules = [Rules(&generator), Rules(&generator)]
    }
}

extension Rules {
    fileprivate init(_ generator: inout SeededGenerator) {
        packetLogs = Int.random(in: 1...40, using: &generator)
        if oneOf(3, &generator) { packetBytes = Int.random(in: 300...5000, using: &generator) }
        packetAge = oneOf(2, &generator) ? 1 : 3600
        if oneOf(2, &generator) { lanes = Int.random(in: 1...3, using: &generator) }
        if oneOf(4, &generator) { fresh = [20, 50, 90].randomElement(using: &generator) ?? 0 }
        if oneOf(4, &generator) { bytes = Int.random(in: 5000...20_000, using: &generator) }
        dropsOldest = oneOf(3, &generator)
        late = LatePolicy.allCases.randomElement(using: &generator) ?? .rewrite
        if oneOf(4, &generator) { logstores = Int.random(in: 1...3, using: &generator) }
        if oneOf(5, &generator) { age = 60 }
    }
}

extension Load {
    fileprivate init(_ generator: inout SeededGenerator) {
        stream = Int.random(in: 0..<(oneOf(2, &generator) ? 2 : 12), using: &generator)
        logs = Int.random(in: 0...(oneOf(3, &generator) ? 25 : 6), using: &generator)
        filling = Int.random(in: 0...(oneOf(4, &generator) ? 400 : 40), using: &generator)
        if oneOf(4, &generator) { late = Int.random(in: 1...8, using: &generator) }
        if oneOf(6, &generator) { dead = Int.random(in: 1...3, using: &generator) }
        if oneOf(10, &generator) { dropped = Int.random(in: 1...2, using: &generator) }
        isOptional = oneOf(3, &generator)
    }
}

extension Operation {
    fileprivate init(_ generator: inout SeededGenerator) {
        let pick = Int.random(in: 0..<64, using: &generator)
        self =
            switch Int.random(in: 0..<100, using: &generator) {
            case 0..<29:
                .append(
                    (0..<Int.random(in: 1...3, using: &generator)).map { _ in Load(&generator) }
                )
            case 29..<32: .again(call: pick)
            case 32..<46:
                .ask(outlet: pick % 6, count: Int.random(in: 1...4, using: &generator))
            case 46..<57: .acknowledge(pick)
            case 57..<64: .refuse(pick)
            case 64..<66: .drop(pick)
            case 66..<68: .relane(pick)
            case 68..<69: .setAside(pick)
            case 69..<71: .postpone(pick)
            case 71..<73: .read(pick)
            case 73..<75: .giveBack(pick)
            case 75..<78: .advance(seconds: [1, 30, 70, 700].randomElement(using: &generator) ?? 1)
            case 78..<80: .doHousekeeping
            case 80..<82: .replay(letter: pick, count: 1 + pick % 5)
            case 82..<83: .purge(letter: pick, count: 1 + pick % 5)
            case 83..<84: .edit(letter: pick, filling: pick)
            case 84..<87: .flush(destination: pick % 2)
            case 87..<89: .apply(destination: pick % 2, Rules(&generator))
            case 89..<90: .damage(log: pick)
            case 90..<92: .fail(after: pick % 6)
            case 92..<95: .gather(2 + pick % 4)
            case 95..<97: .restart
            case 97..<99: .crash
            default: .salvage
            }
    }
}

private func oneOf(_ count: Int, _ generator: inout SeededGenerator) -> Bool {
    Int.random(in: 0..<count, using: &generator) == 0
}

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
