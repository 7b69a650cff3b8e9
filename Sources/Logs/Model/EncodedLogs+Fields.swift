extension EncodedLogs {
    /// The same logs with these fields more in each, before their own: what was a tag of all becomes a
    /// part of every one. One pass that copies; nil when the result could exceed `bytesMax`, since a few
    /// bytes of log can bring kilobytes of tags.
    ///
    /// For entries that begin with their time, as this room writes them.
    package func adding(
        _ fields: [(key: String, value: String)],
        atMost bytesMax: Int
    ) -> EncodedLogs? {
        var extra: [UInt8] = []
        for (key, value) in fields {
            extra.append(pairTagged: LogTag.contents, key: key, value: value)
        }
        // A length takes four bytes more at most when it grows.
        let (added, overflow) = count.multipliedReportingOverflow(by: extra.count + 4)
        guard !overflow, bytes.count + added <= bytesMax else { return nil }
        let written = [UInt8](unsafeUninitializedCapacity: bytes.count + added) { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            filled = write(with: extra, to: start)
        }
        return EncodedLogs(bytes: written, count: count)
    }

    private func write(with extra: [UInt8], to start: UnsafeMutablePointer<UInt8>) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            guard var source = bytes.baseAddress else { return 0 }
            let end = source + bytes.count
            var place = start
            while source < end {
                source += 1
                let size = Varint.read(&source)
                place.pointee = GroupTag.logs
                place = Varint.write(size + extra.count, to: place + 1)
                // The time: a tag, and bytes of which the last is below 0x80.
                var timeSize = 2
                while source[timeSize - 1] >= 0x80 { timeSize += 1 }
                place.update(from: source, count: timeSize)
                place += timeSize
                extra.withUnsafeBufferPointer { extra in
                    if let first = extra.baseAddress {
                        place.update(from: first, count: extra.count)
                    }
                }
                place += extra.count
                place.update(from: source + timeSize, count: size - timeSize)
                place += size - timeSize
                source += size
            }
            return place - start
        }
    }
}

extension DecodedLogs {
    /// `EncodedLogs.adding` for all that is kept; the bound is that of all of it together.
    package func adding(
        _ fields: [(key: String, value: String)],
        atMost bytesMax: Int
    ) -> DecodedLogs? {
        var result = self
        var room = bytesMax
        func added(_ logs: EncodedLogs) -> EncodedLogs? {
            let added = logs.adding(fields, atMost: room)
            room -= added?.bytes.count ?? 0
            return added
        }
        guard let sound = added(sound) else { return nil }
        result.sound = sound
        for index in faulty.indices {
            guard let logs = added(faulty[index].logs) else { return nil }
            result.faulty[index].logs = logs
        }
        return result
    }
}
