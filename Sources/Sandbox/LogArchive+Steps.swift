import JSON
import SQLite
import System

/// The steps of a write to the archive, inside its transaction.
extension LogArchive {
    /// SQLite's approximate overhead for a log.
    private static var overheadBytes: Int { 32 }

    func isKnown(_ pack: String?, at address: Address) throws(SQLiteError) -> Bool {
        guard let pack else { return false }
        statements.findPack.bind(1, pack)
        statements.findPack.bind(2, address.project)
        statements.findPack.bind(3, address.logstore)
        defer { statements.findPack.reset() }
        return try statements.findPack.step()
    }

    func insert(
        _ logs: ReceivedLogs,
        at address: Address
    ) throws(SQLiteError) -> Size {
        let count = logs.entries.count
        let bytes =
            logs.json.bytes.count + logs.tags.bytes.count + logs.topic.utf8.count
            + logs.source.utf8.count + (count + 4) * Self.overheadBytes
        statements.insertRequest.bind(1, lastRequest + 1)
        statements.insertRequest.bind(2, address.received.nanoseconds)
        statements.insertRequest.bind(3, address.requestID)
        statements.insertRequest.bind(4, address.project)
        statements.insertRequest.bind(5, address.logstore)
        statements.insertRequest.bind(6, logs.topic)
        statements.insertRequest.bind(7, logs.source)
        statements.insertRequest.bind(8, String(decoding: logs.tags.bytes, as: UTF8.self))
        statements.insertRequest.bind(9, logs.packID)
        statements.insertRequest.bind(10, Int64(count))
        statements.insertRequest.bind(11, Int64(bytes))
        statements.insertRequest.bind(12, lastLog + Int64(count))
        try statements.insertRequest.run()
        try logs.json.bytes.withUnsafeBufferPointer { json throws(SQLiteError) in
            let json = UnsafeRawBufferPointer(json)
            for (place, entry) in logs.entries.enumerated() {
                statements.insertLog.bind(1, lastLog + 1 + Int64(place))
                statements.insertLog.bind(2, lastRequest + 1)
                statements.insertLog.bind(3, Int64(place))
                statements.insertLog.bind(4, Int64(entry.time))
                statements.insertLog.bind(5, entry.nanoseconds.map(Int64.init))
                statements.insertLog.bind(
                    6,
                    borrowingText: UnsafeRawBufferPointer(rebasing: json[entry.fields])
                )
                try statements.insertLog.run()
            }
        }
        return Size(requests: 1, logs: count, bytes: bytes)
    }

    func move(
        _ lane: (key: String, sequence: UInt64),
        of address: Address
    ) throws(SQLiteError) {
        statements.moveLane.bind(1, address.project)
        statements.moveLane.bind(2, address.logstore)
        statements.moveLane.bind(3, lane.key)
        // Stored as text, because a sequence id may exceed a signed integer.
        statements.moveLane.bind(4, "\(lane.sequence)")
        try statements.moveLane.run()
        // A replaced lane gets a new row at the end, so the lowest rows are the longest unused.
        statements.trimLanes.bind(1, Int64(lanesMax))
        try statements.trimLanes.run()
    }

    func dropOldest(sparing added: Size) throws(SQLiteError) -> Size {
        var dropped = Size()
        while size.requests - dropped.requests > 0,
            size.logs + added.logs - dropped.logs > logsMax
                || size.bytes + added.bytes - dropped.bytes > bytesMax,
            try statements.oldestRequest.step()
        {
            let id = statements.oldestRequest.integer(0)
            let lastLog = statements.oldestRequest.integer(1)
            dropped.requests += 1
            dropped.logs += Int(statements.oldestRequest.integer(2))
            dropped.bytes += Int(statements.oldestRequest.integer(3))
            statements.oldestRequest.reset()
            statements.deleteLogs.bind(1, lastLog)
            try statements.deleteLogs.run()
            statements.deleteRequest.bind(1, id)
            try statements.deleteRequest.run()
        }
        return dropped
    }
}
