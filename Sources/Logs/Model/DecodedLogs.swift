/// The logs of one request, decoded.
package struct DecodedLogs: Sendable, Equatable {
    /// Logs that can be sent.
    package var sound: EncodedLogs
    /// Logs that cannot be sent, and are kept.
    package var faulty: [FaultyLogs]
    /// Logs that the rules dropped.
    package var dropped: Int
    /// Logs whose time was corrected by the skew of the device's clock, wherever they are now.
    package var corrected: Int
    /// Logs that had bytes that are not UTF-8, wherever they are now.
    package var repaired = 0

    package init(
        sound: EncodedLogs = EncodedLogs(),
        faulty: [FaultyLogs] = [],
        dropped: Int = 0,
        corrected: Int = 0
    ) {
        self.sound = sound
        self.faulty = faulty
        self.dropped = dropped
        self.corrected = corrected
    }

    /// Logs that could not be read, and are kept as text.
    package var unreadable: Int {
        faulty.reduce(0) { count, faulty in
            if case .unreadable = faulty.fault { count + faulty.logs.count } else { count }
        }
    }

    /// All logs of the request.
    package var count: Int {
        faulty.reduce(sound.count + dropped) { $0 + $1.logs.count }
    }

    /// The size of all kept logs.
    package var bytes: Int {
        faulty.reduce(sound.bytes.count) { $0 + $1.logs.bytes.count }
    }

    /// Adds the logs of another part of the same stream.
    package mutating func append(_ more: DecodedLogs) {
        sound.bytes += more.sound.bytes
        sound.count += more.sound.count
        for faulty in more.faulty {
            faulty.logs.bytes.withUnsafeBufferPointer {
                setAside($0, count: faulty.logs.count, for: faulty.fault)
            }
        }
        dropped += more.dropped
        corrected += more.corrected
        repaired += more.repaired
    }

    /// Puts entries among those of the same fault. Faults are few in one request, whatever a device
    /// sends: at most one for each value that is too long, and one for each text that cannot be
    /// read.
    mutating func setAside(_ entries: UnsafeBufferPointer<UInt8>, count: Int, for fault: LogFault) {
        if let known = faulty.firstIndex(where: { $0.fault == fault }) {
            faulty[known].logs.bytes.append(contentsOf: entries)
            faulty[known].logs.count += count
        } else {
            let logs = EncodedLogs(bytes: Array(entries), count: count)
            faulty.append(FaultyLogs(logs: logs, fault: fault))
        }
    }

    /// Replaces the positions of unreadable texts, which `positions` maps in ascending order.
    mutating func changePositions(_ positions: ([Int]) -> [Int]) {
        let found = faulty.compactMap { faulty in
            if case .unreadable(let position, _) = faulty.fault { position } else { nil }
        }
        guard !found.isEmpty else { return }
        let before = Set(found).sorted()
        let after = Dictionary(uniqueKeysWithValues: zip(before, positions(before)))
        faulty = faulty.map { faulty in
            guard case .unreadable(let position, let reason) = faulty.fault else { return faulty }
            let fault = LogFault.unreadable(at: after[position] ?? position, reason: reason)
            return FaultyLogs(logs: faulty.logs, fault: fault)
        }
    }

    /// Sets aside logs that are larger than any packet. It costs one comparison when no log can be.
    package mutating func setAside(largerThan bytesMax: Int) throws(LogDecodingError) {
        guard sound.bytes.count > bytesMax else { return }
        let all = sound
        var kept = EncodedLogs()
        kept.bytes.reserveCapacity(all.bytes.count)
        try all.bytes.withUnsafeBufferPointer { bytes throws(LogDecodingError) in
            var entries = LogEntries(UnsafeRawBufferPointer(bytes))
            while let range = try entries.next() {
                let entry = UnsafeBufferPointer(rebasing: bytes[range])
                if entry.count > bytesMax {
                    setAside(entry, count: 1, for: .logTooLarge(bytesMax: bytesMax))
                } else {
                    kept.append(entry: UnsafeRawBufferPointer(entry))
                }
            }
        }
        sound = kept
    }
}

/// Logs with topic, source and tags: those of a web tracking request, or a group of another format.
package struct TrackedLogs: Sendable {
    package var logs: DecodedLogs
    package var topic: String?
    package var source: String?
    /// In the order of the request; of each name the last one.
    package var tags: [(key: String, value: String)]
    /// The `service.name` of OTLP's resource, for logs that were asked for by service.
    package var service: String?
    /// False when a log has no time in a protocol where each log should have one.
    package var areTimed = true

    package init(
        logs: DecodedLogs = DecodedLogs(),
        topic: String? = nil,
        source: String? = nil,
        tags: [(key: String, value: String)] = []
    ) {
        self.logs = logs
        self.topic = topic
        self.source = source
        self.tags = tags
    }
}
