/// Where an event comes from, as its sender says. Missing parts are empty.
struct SplunkOrigin: Hashable {
    var host: [UInt8] = []
    var source: [UInt8] = []
    var sourcetype: [UInt8] = []
    var index: [UInt8] = []

    /// Keeps the memory for the next event.
    mutating func clear() {
        host.removeAll(keepingCapacity: true)
        source.removeAll(keepingCapacity: true)
        sourcetype.removeAll(keepingCapacity: true)
        index.removeAll(keepingCapacity: true)
    }

    var bytes: Int { host.count + source.count + sourcetype.count + index.count }

    func hash(into hasher: inout Hasher) {
        Self.hash(host, into: &hasher)
        Self.hash(source, into: &hasher)
        Self.hash(sourcetype, into: &hasher)
        Self.hash(index, into: &hasher)
    }

    /// All bytes at once: an array hashes them one by one.
    private static func hash(_ text: [UInt8], into hasher: inout Hasher) {
        hasher.combine(text.count)
        text.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// Events that have all of this in common.
package struct SplunkEvents: Sendable, Equatable {
    package var host = ""
    package var source = ""
    package var sourcetype = ""
    package var index = ""
    /// The first of them, from zero.
    package var first = 0
    package var logs = DecodedLogs()

    package init() {}
}

/// The events of one body as they are read.
struct SplunkGathering {
    /// The origin of the event that is being read.
    var origin = SplunkOrigin()
    /// Complete events.
    private(set) var count = 0
    private var parted: PartedLogs<SplunkOrigin>
    /// The first event of each index of `parted`.
    private var firsts: [Int] = []

    init(_ limits: LogLimits) {
        parted = PartedLogs(atMost: limits.streams)
    }

    /// Takes the written event, which is complete. False when its origin is one too many.
    mutating func take(from writer: inout LogWriter) -> Bool {
        guard let index = parted.index(of: origin) else { return false }
        if index == firsts.count { firsts.append(count) }
        parted.take(from: &writer, at: index)
        count += 1
        return true
    }

    var events: [SplunkEvents] {
        zip(parted.parts, firsts).map { part, first in
            var events = SplunkEvents()
            events.host = String(decoding: part.key.host, as: UTF8.self)
            events.source = String(decoding: part.key.source, as: UTF8.self)
            events.sourcetype = String(decoding: part.key.sourcetype, as: UTF8.self)
            events.index = String(decoding: part.key.index, as: UTF8.self)
            events.first = first
            events.logs = part.logs
            return events
        }
    }
}
