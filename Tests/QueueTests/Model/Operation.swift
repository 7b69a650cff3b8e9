import Queue

@testable import SQLiteQueue

/// One thing that a device, delivery, an operator or the world does to the queue.
///
/// Each stands alone: what it picks it counts through what is there, from the start again at the
/// end, and where nothing is there it does nothing. So any of them can be left out of a sequence.
enum Operation: Equatable {
    case append([Load])
    /// A device sends a call again.
    case again(call: Int)
    case flush(destination: Int)
    case ask(outlet: Int, count: Int)
    case acknowledge(Int)
    /// SLS refuses a packet for what is in it.
    case refuse(Int)
    /// The operator wants a refused packet dropped.
    case drop(Int)
    case relane(Int)
    case setAside(Int)
    case postpone(Int)
    case read(Int)
    case giveBack(Int)
    case advance(seconds: Int)
    case doHousekeeping
    case replay(letter: Int, count: Int)
    case purge(letter: Int, count: Int)
    case edit(letter: Int, filling: Int)
    case apply(destination: Int, Rules)
    /// The row of a queued log changes on the disk.
    case damage(log: Int)
    /// The disk takes nothing any more, from so many looks at the clock on.
    case fail(after: Int)
    /// The next so many share a transaction, if no other kind of operation comes between.
    case gather(Int)
    case restart
    /// What was not committed is gone.
    case crash
    /// A restart that finds the database damaged and rebuilds it.
    case salvage
}

/// Logs of one call for one stream.
struct Load: Equatable {
    var stream = 0
    var logs = 1
    var filling = 10
    /// Each log of so many has a time that SLS does not take; 0 has none.
    var late = 0
    /// Logs more that are dead on arrival, or dropped.
    var dead = 0
    var dropped = 0
    /// The request may be stored without it.
    var isOptional = false
}

/// What holds for a destination, as numbers.
struct Rules: Equatable {
    var packetLogs = 20
    var packetBytes = 1 << 20
    var packetAge = 3600
    var lanes = 0
    var fresh = 0
    /// 0 has no bound.
    var bytes = 0
    var dropsOldest = false
    var late = LatePolicy.rewrite
    var logstores = 100
    /// Seconds; 0 has the queue's own.
    var age = 0
}

// MARK: - As Swift code

extension Operation {
    /// Can be pasted into a test.
    var code: String { "." + codeOf(self) }
}

/// What Swift prints of enums and structs is the code that makes them, but for the names of
/// modules.
func codeOf(_ value: some Any) -> String {
    var code = String(describing: value)
    for module in ["QueueTests.", "SQLiteQueue.", "Queue."] { code.replace(module, with: "") }
    return code
}

// What may be tried in place of an operation, or of settings, to make a failing sequence easier to
// read. Each is closer to the simplest one, so that trying comes to an end.
extension Operation {
    var simpler: [Operation] {
        switch self {
        case .append(let loads):
            loads.indices.flatMap { index -> [Operation] in
                var others = loads
                others.remove(at: index)
                let changed = loads[index].simpler.map { load -> Operation in
                    var loads = loads
                    loads[index] = load
                    return .append(loads)
                }
                return (others.isEmpty ? [] : [.append(others)]) + changed
            }
        case .again(let call): call.simpler().map { .again(call: $0) }
        case .flush(let destination): destination.simpler().map { .flush(destination: $0) }
        case .ask(let outlet, let count):
            outlet.simpler().map { .ask(outlet: $0, count: count) }
                + count.simpler(1).map { .ask(outlet: outlet, count: $0) }
        case .acknowledge(let pick): pick.simpler().map { .acknowledge($0) }
        case .refuse(let pick): pick.simpler().map { .refuse($0) }
        case .drop(let pick): pick.simpler().map { .drop($0) }
        case .relane(let pick): pick.simpler().map { .relane($0) }
        case .setAside(let pick): pick.simpler().map { .setAside($0) }
        case .postpone(let pick): pick.simpler().map { .postpone($0) }
        case .read(let pick): pick.simpler().map { .read($0) }
        case .giveBack(let pick): pick.simpler().map { .giveBack($0) }
        case .advance(let seconds): seconds.simpler().map { .advance(seconds: $0) }
        case .replay(let letter, let count):
            letter.simpler().map { .replay(letter: $0, count: count) }
                + count.simpler(1).map { .replay(letter: letter, count: $0) }
        case .purge(let letter, let count):
            letter.simpler().map { .purge(letter: $0, count: count) }
                + count.simpler(1).map { .purge(letter: letter, count: $0) }
        case .edit(let letter, let filling):
            letter.simpler().map { .edit(letter: $0, filling: filling) }
                + filling.simpler().map { .edit(letter: letter, filling: $0) }
        case .apply(let destination, let rules):
            destination.simpler().map { .apply(destination: $0, rules) }
                + rules.simpler.map { .apply(destination: destination, $0) }
        case .damage(let log): log.simpler().map { .damage(log: $0) }
        case .fail(let looks): looks.simpler().map { .fail(after: $0) }
        case .gather(let count): count.simpler(1).map { .gather($0) }
        case .salvage: [.restart]
        case .crash: [.restart]
        case .doHousekeeping, .restart: []
        }
    }
}

extension Load {
    var simpler: [Load] {
        let least = Load(logs: 0, filling: 0)
        var required = self
        required.isOptional = false
        return (isOptional ? [required] : [])
            + [\Load.stream, \.logs, \.filling, \.late, \.dead, \.dropped].flatMap { field in
                self[keyPath: field].simpler(least[keyPath: field]).map { number in
                    var load = self
                    load[keyPath: field] = number
                    return load
                }
            }
    }
}

extension Rules {
    var simpler: [Rules] {
        let plain = Rules()
        var tried: [Rules] = []
        func reset<Value: Equatable>(_ field: WritableKeyPath<Rules, Value>) {
            guard self[keyPath: field] != plain[keyPath: field] else { return }
            var rules = self
            rules[keyPath: field] = plain[keyPath: field]
            tried.append(rules)
        }
        for field in [
            \Rules.packetLogs, \.packetBytes, \.packetAge, \.lanes, \.fresh, \.bytes,
            \.logstores, \.age,
        ] {
            reset(field)
        }
        reset(\.dropsOldest)
        reset(\.late)
        return tried
    }
}

extension Settings {
    var simpler: [Settings] {
        let plain = Settings()
        var tried: [Settings] = []
        for field in [
            \Settings.rowBytes, \.recentBytes, \.idleStreams, \.checkpointBytes, \.bytes, \.age,
            \.deadAge,
        ] where self[keyPath: field] != plain[keyPath: field] {
            var settings = self
            settings[keyPath: field] = plain[keyPath: field]
            tried.append(settings)
        }
        for index in rules.indices {
            for simpler in rules[index].simpler {
                var settings = self
                settings.rules[index] = simpler
                tried.append(settings)
            }
        }
        return tried
    }
}

extension Int {
    /// The least, half-way to it, and one less.
    fileprivate func simpler(_ least: Int = 0) -> [Int] {
        guard self > least else { return [] }
        var tried = [least]
        for number in [least + (self - least) / 2, self - 1] where !tried.contains(number) {
            tried.append(number)
        }
        return tried
    }
}
