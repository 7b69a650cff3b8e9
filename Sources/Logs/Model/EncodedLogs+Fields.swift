extension EncodedLogs {
    /// The same logs with these fields more in each, or in the first ones, before their own: what was a tag
    /// of all becomes a part of every one. What a log itself calls by such a name is replaced. One pass that
    /// copies; nil when the result could exceed `bytesMax`, since a few bytes of log can bring kilobytes of
    /// tags.
    ///
    /// For entries that begin with their time, as this room writes them.
    package func adding(
        _ fields: [(key: String, value: String)],
        toFirst logsMax: Int = .max,
        atMost bytesMax: Int
    ) -> EncodedLogs? {
        var extra = AddedFields(fields)
        return adding(&extra, toFirst: logsMax, atMost: bytesMax)
    }

    func adding(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        atMost bytesMax: Int
    ) -> EncodedLogs? {
        // A length takes four bytes more at most when it grows.
        let (added, overflow) = min(count, logsMax)
            .multipliedReportingOverflow(by: extra.bytes.count + 4)
        guard !overflow, bytes.count + added <= bytesMax else { return nil }
        let written = [UInt8](unsafeUninitializedCapacity: bytes.count + added) { buffer, filled in
            guard let start = buffer.baseAddress else { return }
            filled = write(&extra, toFirst: logsMax, to: start)
        }
        return EncodedLogs(bytes: written, count: count)
    }

    private func write(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        to start: UnsafeMutablePointer<UInt8>
    ) -> Int {
        bytes.withUnsafeBufferPointer { bytes in
            guard var source = bytes.baseAddress else { return 0 }
            let end = source + bytes.count
            var place = start
            var logs = 0
            while source < end, logs < logsMax {
                source += 1
                let size = Varint.read(&source)
                let log = UnsafeBufferPointer(start: source, count: size)
                place = extra.write(into: log, to: place)
                source += size
                logs += 1
            }
            place.update(from: source, count: end - source)
            return place - start + (end - source)
        }
    }
}

extension DecodedLogs {
    /// `EncodedLogs.adding` for all that is kept; the bound is that of all of it together.
    package func adding(
        _ fields: [(key: String, value: String)],
        toFirst logsMax: Int = .max,
        atMost bytesMax: Int
    ) -> DecodedLogs? {
        var extra = AddedFields(fields)
        return adding(&extra, toFirst: logsMax, atMost: bytesMax)
    }

    func adding(
        _ extra: inout AddedFields,
        toFirst logsMax: Int,
        atMost bytesMax: Int
    ) -> DecodedLogs? {
        var result = self
        var (room, logsMax) = (bytesMax, logsMax)
        func added(_ logs: EncodedLogs) -> EncodedLogs? {
            let added = logs.adding(&extra, toFirst: logsMax, atMost: room)
            room -= added?.bytes.count ?? 0
            logsMax -= min(logs.count, logsMax)
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
