import Glibc
package import Queue
import SQLite

/// Reads a queue's database completely, payloads included, and compares its parts. It neither
/// writes nor checkpoints, and removes the files that SQLite created for it.
package struct Inspection {
    let connection: Connection
    let file: DamagedFile
    var report: InspectionReport
    var streams: [Int64: StreamKey] = [:]
    /// The packets of each stream, by stream id and in the order of their rows.
    var packets: [Int64: [PacketTally]] = [:]
    /// The logs that were found of each destination.
    var queued: [String: Int64] = [:]
    var dead: [String: Int64] = [:]

    /// Valid numbers. The queue never writes others.
    static let numbers: ClosedRange<Int64> = 0...Int64.max

    /// Inspects a data directory, which no gateway may use meanwhile, or the file of a copy.
    package static func run(_ path: String) throws(QueueError) -> InspectionReport {
        var about = stat()
        guard stat(path, &about) == 0 else { throw missing(path) }
        let isDirectory = about.st_mode & S_IFMT == S_IFDIR
        let isQueue = path == "queue.db" || path.hasSuffix("/queue.db")
        guard isDirectory || isQueue else { return try look(at: path) }
        let directory = DataDirectory(path: isDirectory ? path : DataDirectory.parent(of: path))
        guard stat(directory.database, &about) == 0 else { throw missing(directory.database) }
        let lock = try lock(directory)
        var report = try look(at: directory.database)
        // SQLite ignores such damage silently.
        if report.bytes > 1, let problem = directory.problemOfFiles() {
            report.found(.structure, "\(problem)")
        }
        _ = consume lock
        return report
    }

    private static func lock(_ directory: DataDirectory) throws(QueueError) -> DirectoryLock {
        do throws(QueueError) {
            return try DirectoryLock(directory)
        } catch  where error.kind == .inUse {
            throw QueueError(
                .inUse,
                "\(directory.path) is in use by a gateway, whose files change while they are read; stop it, or "
                    + "look at a copy: sluice backup FILE, then sluice fsck FILE."
            )
        }
    }

    static func missing(_ path: String) -> QueueError {
        QueueError(
            .directory,
            "\(path): \(String(cString: strerror(errno))); name the data directory of a gateway "
                + "(data_dir), or the file of a copy."
        )
    }

    static func look(at database: String) throws(QueueError) -> InspectionReport {
        let companions = SQLiteCompanions.missing(of: database)
        defer { for name in companions { unlink(name) } }
        var report = InspectionReport(path: database)
        report.bytes = fileSize(database) ?? 0
        report.logBytes = fileSize(database + "-wal") ?? 0
        // SQLite removes the log of an empty file, even if it was asked only to read.
        guard report.bytes > 1 || report.logBytes == 0 else {
            report.found(.structure, "the file is empty, and its log is not")
            return report
        }
        do throws(SQLiteError) {
            var inspection = try Inspection(database, report)
            try inspection.look()
            return inspection.report
        } catch {
            guard error.kind == .corrupt else { throw QueueError(error, path: database) }
            report.found(.structure, "\(error)")
            return report
        }
    }

    private init(_ database: String, _ report: InspectionReport) throws(SQLiteError) {
        connection = try Connection(database, .readOnly)
        file = DamagedFile(database)
        try Pragmas.reader(connection)
        try connection.tolerateDamage()
        // The transaction gives one moment of the database.
        try connection.execute("BEGIN")
        self.report = report
        self.report.schema = try QueueSchema.version(of: connection)
    }

    private mutating func look() throws(SQLiteError) {
        checkStructure()
        readLedgers()
        readStreams()
        readPackets()
        readRows()
        comparePackets()
        readLetters()
        readRepeats()
        compareLedgers()
        compareIntake()
    }

    /// Runs SQLite's own check of every page, and of the agreement between indexes and tables.
    private mutating func checkStructure() {
        do throws(SQLiteError) {
            let check = try connection.prepare("PRAGMA integrity_check(100)")
            while try check.step() {
                let line = check.text(0)
                if line != "ok" { report.found(.structure, line) }
            }
        } catch {
            report.found(.structure, "\(error)")
        }
    }

    /// Reads the readable part of a table, in the order of `key`.
    mutating func read(
        _ columns: String,
        of name: String,
        key: String,
        _ visit: (inout Inspection, Statement) -> Void
    ) {
        do throws(SQLiteError) {
            var table = try DamagedTable(connection, in: file, columns, of: name, key: key)
            try table.read(Self.numbers) { row throws(SQLiteError) in visit(&self, row) }
            if table.hasGaps { report.found(.unreadable, "parts of \(name) cannot be read") }
        } catch {
            report.found(.unreadable, "\(name) cannot be read: \(error)")
        }
    }
}

/// The content of a queue's database, and its faults.
package struct InspectionReport: Sendable, Equatable {
    /// The kinds of faults. Scripts read these words.
    package enum Fault: String, Sendable, CaseIterable {
        /// SQLite's check complains of pages or indexes.
        case structure
        case unreadable
        case streams
        case packets
        /// Rows differ from the content that was stored.
        case rows
        case deadLetters = "dead_letters"
        case ledger
        case repeats
    }

    package struct Finding: Sendable, Equatable {
        package let fault: Fault
        package internal(set) var count: Int
        /// A sentence about the fault, or about the first one of its kind.
        package let text: String
    }

    package let path: String
    package var schema = 0
    package var bytes = 0
    package var logBytes = 0
    package var streams = 0
    package var packets = 0
    package var rows = 0
    package var logs: Int64 = 0
    package var deadLetters = 0
    package var repeats = 0
    package var ledgers: [String: Ledger] = [:]
    package var intake = IntakeTally()
    package private(set) var findings: [Finding] = []

    package var isFine: Bool { findings.isEmpty }

    init(path: String) {
        self.path = path
    }

    /// Adds a fault. The first one of a kind keeps its text; further ones are only counted.
    mutating func found(_ fault: Fault, _ text: @autoclosure () -> String) {
        if let index = findings.firstIndex(where: { $0.fault == fault }) {
            findings[index].count += 1
        } else {
            findings.append(Finding(fault: fault, count: 1, text: text()))
        }
    }
}
