import Logs
import Queue
import SQLite
import System
import TestSupport
import Testing

@testable import SQLiteQueue

/// A database as the program of its time left it; see `Fixtures/README.md`.
struct SchemaFixture: Sendable, CustomTestStringConvertible {
    let schema: Int
    /// By SIGKILL, with a log beside the database; else by SIGTERM.
    let wasKilled: Bool

    static let all = (1...7).flatMap { schema in
        [false, true].map { SchemaFixture(schema: schema, wasKilled: $0) }
    }

    var testDescription: String { "schema \(schema), \(wasKilled ? "killed" : "stopped")" }

    /// When they were made, and so an hour after their logs came at most.
    static var clock: QueueClock { ManualClock(at: WallTime(seconds: 1_795_334_600)).queueClock }

    static let queued = ["first": Array(200..<240) + Array(400..<410), "second": Array(300..<340)]
    var dead: [Int] { schema < 3 ? [] : Array(100..<103) }

    /// Puts it into a directory as its queue.
    func unpack(into directory: TemporaryDirectory) throws {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let name = "/\(folder)/Fixtures/schema-\(schema)-\(wasKilled ? "killed" : "stopped")"
        for suffix in wasKilled ? ["", "-wal"] : [""] {
            let packed = readFile("\(name).db\(suffix).gz")
            let inflater = Inflater()
            let content = try packed.withUnsafeBytes { bytes in
                [UInt8](try inflater.inflate(bytes, .gzip))
            }
            writeFile("\(directory.path)/queue.db\(suffix)", content)
        }
    }
}

/// What a database holds of the logs of each logstore, byte for byte and in their order.
func storedLogs(_ database: String) throws -> [String: [UInt8]] {
    let connection = try Connection(database, .readOnly)
    let rows = try connection.prepare(
        """
        SELECT logstore, raw, payload FROM rows JOIN streams ON streams.id = rows.stream
        ORDER BY rows.id
        """
    )
    var logs: [String: [UInt8]] = [:]
    while try rows.step() {
        let raw = try LZ4.decompress(rows.bytes(2), rawBytes: Int(rows.integer(1)))
        logs[rows.text(0), default: []] += raw
    }
    return logs
}

/// The same of a directory's queue, which is left as it is.
func storedLogs(in directory: TemporaryDirectory) throws -> [String: [UInt8]] {
    let copy = directory.copy()
    return try withExtendedLifetime(copy) { try storedLogs(copy.path + "/queue.db") }
}
