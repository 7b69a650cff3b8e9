import Queue

@testable import SQLiteQueue

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
