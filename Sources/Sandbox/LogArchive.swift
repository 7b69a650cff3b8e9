import System

/// The logs that arrived, in SQLite, in the order in which they came. When it is full the oldest
/// requests go, with all their logs.
struct LogArchive: ~Copyable {
    /// What is there now.
    struct Size: Equatable, Sendable {
        var requests = 0
        var logs = 0
        var bytes = 0
    }

    /// What one write came to.
    struct Receipt: Equatable, Sendable {
        /// The pack id was there already, for this logstore.
        let isDuplicate: Bool
        let dropped: Size
    }

    /// What SQLite needs for a log besides its text, about.
    private static let overheadBytes = 32

    let database: Database
    private let statements: ArchiveStatements
    private let logsMax: Int
    private let bytesMax: Int
    private let lanesMax: Int

    private(set) var size: Size
    private var lastRequest: Int64
    /// The cursor behind the newest log. It never goes back, also when everything is cleared.
    private(set) var lastLog: Int64

    init(path: String?, limits: SandboxConfiguration.Limits) throws(DatabaseError) {
        let database = try Database(path: path)
        try ArchiveStatements.createTables(in: database, path: path)
        let statements = try ArchiveStatements(database)
        let sums = statements.sums
        _ = try sums.step()
        self.database = database
        self.statements = statements
        logsMax = limits.storedLogsMax
        bytesMax = limits.storedBytesMax
        lanesMax = limits.lanesMax
        size = Size(
            requests: Int(sums.integer(0)),
            logs: Int(sums.integer(1)),
            bytes: Int(sums.integer(2))
        )
        lastRequest = sums.integer(3)
        lastLog = sums.integer(4)
        sums.reset()
    }

    /// Where a write goes and what is known of it.
    struct Address: Sendable {
        let project: String
        let logstore: String
        let requestID: String
        let received: WallTime
        /// The hash key and the sequence id of an exactly-once write.
        var lane: (key: String, sequence: UInt64)?
    }

    /// Keeps all logs of a request, or none.
    mutating func store(
        _ logs: ReceivedLogs,
        at address: Address
    ) throws(DatabaseError) -> Receipt {
        try database.run("BEGIN")
        do {
            let isDuplicate = try isKnown(logs.packID, at: address)
            let added = try insert(logs, at: address)
            if let lane = address.lane { try move(lane, of: address) }
            let dropped = try dropOldest(sparing: added)
            try database.run("COMMIT")
            size.requests += 1 - dropped.requests
            size.logs += added.logs - dropped.logs
            size.bytes += added.bytes - dropped.bytes
            lastRequest += 1
            lastLog += Int64(added.logs)
            return Receipt(isDuplicate: isDuplicate, dropped: dropped)
        } catch {
            try? database.run("ROLLBACK")
            throw error
        }
    }

    /// Forgets all logs. Lanes stay: SLS does not forget them either.
    mutating func clear() throws(DatabaseError) {
        try database.run("BEGIN; DELETE FROM log; DELETE FROM request; COMMIT")
        size = Size()
    }

    /// The last sequence id of a lane; nil when nothing came on it.
    func sequence(of key: String, _ project: String, _ logstore: String) throws(DatabaseError)
        -> UInt64?
    {
        statements.findLane.bind(0, project)
        statements.findLane.bind(1, logstore)
        statements.findLane.bind(2, key)
        guard try statements.findLane.step() else { return nil }
        defer { statements.findLane.reset() }
        return UInt64(statements.findLane.text(0))
    }

    // MARK: - Steps of a write

    private func isKnown(_ pack: String?, at address: Address) throws(DatabaseError) -> Bool {
        guard let pack else { return false }
        statements.findPack.bind(0, pack)
        statements.findPack.bind(1, address.project)
        statements.findPack.bind(2, address.logstore)
        defer { statements.findPack.reset() }
        return try statements.findPack.step()
    }

    private func insert(
        _ logs: ReceivedLogs,
        at address: Address
    ) throws(DatabaseError) -> Size {
        let count = logs.entries.count
        let bytes =
            logs.json.bytes.count + logs.tags.bytes.count + logs.topic.utf8.count
            + logs.source.utf8.count + (count + 4) * Self.overheadBytes
        statements.insertRequest.bind(0, lastRequest + 1)
        statements.insertRequest.bind(1, address.received.nanoseconds)
        statements.insertRequest.bind(2, address.requestID)
        statements.insertRequest.bind(3, address.project)
        statements.insertRequest.bind(4, address.logstore)
        statements.insertRequest.bind(5, logs.topic)
        statements.insertRequest.bind(6, logs.source)
        statements.insertRequest.bind(7, copying: logs.tags.bytes)
        statements.insertRequest.bind(8, logs.packID)
        statements.insertRequest.bind(9, Int64(count))
        statements.insertRequest.bind(10, Int64(bytes))
        statements.insertRequest.bind(11, lastLog + Int64(count))
        try statements.insertRequest.run()
        try logs.json.bytes.withUnsafeBufferPointer { json throws(DatabaseError) in
            let json = UnsafeRawBufferPointer(json)
            for (place, entry) in logs.entries.enumerated() {
                statements.insertLog.bind(0, lastLog + 1 + Int64(place))
                statements.insertLog.bind(1, lastRequest + 1)
                statements.insertLog.bind(2, Int64(place))
                statements.insertLog.bind(3, Int64(entry.time))
                statements.insertLog.bind(4, entry.nanoseconds.map(Int64.init))
                statements.insertLog.bind(
                    5,
                    borrowing: UnsafeRawBufferPointer(rebasing: json[entry.fields])
                )
                try statements.insertLog.run()
            }
        }
        return Size(requests: 1, logs: count, bytes: bytes)
    }

    private func move(
        _ lane: (key: String, sequence: UInt64),
        of address: Address
    ) throws(DatabaseError) {
        statements.moveLane.bind(0, address.project)
        statements.moveLane.bind(1, address.logstore)
        statements.moveLane.bind(2, lane.key)
        // As text: a sequence id may not fit into a signed integer.
        statements.moveLane.bind(3, "\(lane.sequence)")
        try statements.moveLane.run()
        // A replaced lane gets a new row at the end, so the lowest are those longest unused.
        statements.trimLanes.bind(0, Int64(lanesMax))
        try statements.trimLanes.run()
    }

    private func dropOldest(sparing added: Size) throws(DatabaseError) -> Size {
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
            statements.deleteLogs.bind(0, lastLog)
            try statements.deleteLogs.run()
            statements.deleteRequest.bind(0, id)
            try statements.deleteRequest.run()
        }
        return dropped
    }
}
