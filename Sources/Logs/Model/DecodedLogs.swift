/// What the logs of one request became.
package struct DecodedLogs: Sendable, Equatable {
    /// Those that can be sent.
    package var sound: EncodedLogs
    /// Those that cannot, and are kept.
    package var faulty: [FaultyLogs]
    /// Those that are gone because the rules say so.
    package var dropped: Int
    /// Logs whose time was corrected by the skew of the device's clock, wherever they are now.
    package var corrected: Int
    /// Logs that had bytes which are not UTF-8, wherever they are now.
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

    /// Those that could not be read, and are kept as text.
    package var unreadable: Int {
        faulty.reduce(0) { count, faulty in
            if case .unreadable = faulty.fault { count + faulty.logs.count } else { count }
        }
    }

    /// All that the request brought.
    package var count: Int {
        faulty.reduce(sound.count + dropped) { $0 + $1.logs.count }
    }

    /// The size of all that is kept.
    package var bytes: Int {
        faulty.reduce(sound.bytes.count) { $0 + $1.logs.bytes.count }
    }

    /// Puts entries among those of the same fault. Faults are few in one request, whatever a device
    /// sends: at most one for each value that is too long, and one for each text that cannot be read.
    mutating func setAside(_ entries: UnsafeBufferPointer<UInt8>, count: Int, for fault: LogFault) {
        if let known = faulty.firstIndex(where: { $0.fault == fault }) {
            faulty[known].logs.bytes.append(contentsOf: entries)
            faulty[known].logs.count += count
        } else {
            let logs = EncodedLogs(bytes: Array(entries), count: count)
            faulty.append(FaultyLogs(logs: logs, fault: fault))
        }
    }

    /// Replaces the places of texts that could not be read. `places` gets them in ascending order.
    mutating func changePlaces(_ places: ([Int]) -> [Int]) {
        let found = faulty.compactMap { faulty in
            if case .unreadable(let place, _) = faulty.fault { place } else { nil }
        }
        guard !found.isEmpty else { return }
        let before = Set(found).sorted()
        let after = Dictionary(uniqueKeysWithValues: zip(before, places(before)))
        faulty = faulty.map { faulty in
            guard case .unreadable(let place, let reason) = faulty.fault else { return faulty }
            let fault = LogFault.unreadable(at: after[place] ?? place, reason: reason)
            return FaultyLogs(logs: faulty.logs, fault: fault)
        }
    }

    /// Sets aside what is larger than any packet. Costs a comparison where nothing can be.
    package mutating func setAside(largerThan bytesMax: Int) throws(ProtobufError) {
        guard sound.bytes.count > bytesMax else { return }
        let all = sound
        var kept = EncodedLogs()
        kept.bytes.reserveCapacity(all.bytes.count)
        let result: Result<Void, ProtobufError> = all.bytes.withUnsafeBufferPointer { bytes in
            Result { () throws(ProtobufError) in
                var entries = LogEntries(UnsafeRawBufferPointer(bytes))
                while let range = try entries.next() {
                    let entry = UnsafeBufferPointer(rebasing: bytes[range])
                    if entry.count > bytesMax {
                        setAside(entry, count: 1, for: .logTooLarge(bytesMax: bytesMax))
                    } else {
                        kept.bytes.append(contentsOf: entry)
                        kept.count += 1
                    }
                }
            }
        }
        try result.get()
        sound = kept
    }
}
