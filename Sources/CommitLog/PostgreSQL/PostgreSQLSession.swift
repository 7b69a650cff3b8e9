import CPostgreSQL
import Glibc
import System

/// One connection by libpq, for one thread at a time. No call waits beyond its deadline.
///
/// A statement whose result is late stays under way: `result` goes on to wait for it. A second
/// connection would run into the locks of the first one.
final class PostgreSQLSession {
    enum Value {
        case text(String)
        case number(Int64)
        case bytes([UInt8])
    }

    struct Failure: Error, Equatable {
        enum Kind: Equatable {
            /// The connection is lost. What was under way may be done or not.
            case lost
            /// The answer has not come in time. The statement stays under way.
            case late
            /// The server refused the statement; the code is its SQLSTATE.
            case refused(String)
        }

        let kind: Kind
        let text: String
    }

    private let connection: OpaquePointer
    /// A commit returned although the standby has not confirmed it.
    private(set) var isReplicationDoubtful = false
    private(set) var isBusy = false
    /// The first result of the statement that is under way, or its first failure.
    private var gathered: PostgreSQLResult?

    /// Takes the connection, which is open.
    init(taking connection: OpaquePointer) {
        self.connection = connection
        PQsetnonblocking(connection, 1)
        PQsetNoticeReceiver(
            connection,
            { session, notice in
                guard let session, let notice else { return }
                let level = PQresultErrorField(notice, CInt(UInt8(ascii: "V"))).map {
                    String(cString: $0)
                }
                // "Canceling wait for synchronous replication": only this server has the
                // transaction.
                if level == "WARNING" {
                    Unmanaged<PostgreSQLSession>.fromOpaque(session).takeUnretainedValue()
                        .isReplicationDoubtful = true
                }
            },
            Unmanaged.passUnretained(self).toOpaque()
        )
    }

    deinit { PQfinish(connection) }

    /// Which of these servers libpq has found.
    func server(among all: [PostgreSQLServer]) -> PostgreSQLServer? {
        guard let host = PQhost(connection), let port = PQport(connection) else { return nil }
        return all.first { server in
            server.port == String(cString: port) && server.name == String(cString: host)
        }
    }

    /// Asks the server to end the statement that is under way, on a thread of its own: libpq waits
    /// for the server without a limit.
    func cancel() {
        guard isBusy, let cancel = PQgetCancel(connection) else { return }
        // Only that thread has it.
        nonisolated(unsafe) let owned = cancel
        let worker = try? Worker("postgresql") {
            var text = [CChar](repeating: 0, count: 256)
            PQcancel(owned, &text, CInt(text.count))
            PQfreeCancel(owned)
        }
        worker?.leave()
    }

    var isOpen: Bool { PQstatus(connection) == CONNECTION_OK }

    func takeReplicationDoubt() -> Bool {
        defer { isReplicationDoubtful = false }
        return isReplicationDoubtful
    }

    // MARK: - Statements

    /// Sends a statement and waits for its result. A statement that is under way is waited for
    /// first, and its result dropped: its caller has given up.
    func run(
        _ sql: String,
        _ values: [Value] = [],
        until deadline: Moment
    ) throws(Failure) -> PostgreSQLResult {
        do throws(Failure) {
            if isBusy, try result(until: deadline) == nil { throw Self.late }
        } catch {
            guard case .refused = error.kind else { throw error }
        }
        try send(sql, values)
        guard let result = try result(until: deadline) else { throw Self.late }
        return result
    }

    private static let late = Failure(
        kind: .late,
        text: "the server has not answered yet; is its standby there?"
    )

    /// Begins a statement, while none is under way.
    func send(_ sql: String, _ values: [Value]) throws(Failure) {
        precondition(!isBusy, "two statements on one connection")
        guard
            values.withParameters({ count, pointers, lengths, formats in
                PQsendQueryParams(connection, sql, count, nil, pointers, lengths, formats, 1)
            }) == 1
        else { throw lost() }
        isBusy = true
    }

    /// Waits for the result of the statement under way; nil: it has not come yet. The server
    /// reports a statement before it commits: if the commit fails, a second result replaces the
    /// first.
    func result(until deadline: Moment) throws(Failure) -> PostgreSQLResult? {
        while isBusy {
            let isSent = PQflush(connection)
            guard isSent >= 0, PQconsumeInput(connection) == 1 else { throw lost() }
            while PQisBusy(connection) == 0 {
                guard let next = PQgetResult(connection) else {
                    isBusy = false
                    break
                }
                let result = PostgreSQLResult(taking: next)
                if gathered?.failure == nil { gathered = result }
            }
            guard isBusy else { break }
            let left = deadline - .now
            guard left > .zero else { return nil }
            wait(forRoom: isSent == 1, left)
        }
        guard let result = gathered.take() else { throw lost() }
        // A server that ends without another word may not have committed.
        guard isOpen else { throw lost() }
        if let failure = result.failure { throw failure }
        return result
    }

    private func wait(forRoom: Bool, _ time: Duration) {
        let events = Int16(POLLIN) | (forRoom ? Int16(POLLOUT) : 0)
        var entry = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        poll(&entry, 1, CInt(clamping: max(1, time.milliseconds)))
    }

    /// Waits for notifications, while no statement is under way.
    func notifications(or other: WakeUp, atMost time: Duration) throws(Failure) -> [String] {
        // They may have come with the result of a statement.
        let received = takeNotifications()
        guard received.isEmpty else { return received }
        let events = Int16(POLLIN)
        var entries = [
            pollfd(fd: PQsocket(connection), events: events, revents: 0),
            pollfd(fd: other.descriptor, events: events, revents: 0),
        ]
        poll(&entries, 2, CInt(clamping: max(1, time.milliseconds)))
        guard PQconsumeInput(connection) == 1, isOpen else { throw lost() }
        return takeNotifications()
    }

    private func takeNotifications() -> [String] {
        var texts: [String] = []
        while let found = PQnotifies(connection) {
            texts.append(String(cString: found.pointee.extra))
            PQfreemem(found)
        }
        return texts
    }

    private func lost() -> Failure {
        isBusy = false
        gathered = nil
        return Failure(kind: .lost, text: Self.message(of: connection))
    }

    /// libpq's last message on one line.
    static func message(of connection: OpaquePointer?) -> String {
        oneLine(String(cString: PQerrorMessage(connection)))
    }

    static func oneLine(_ text: String) -> String {
        text.split(separator: "\n").map { line in
            String(line.drop { $0 == " " || $0 == "\t" })
        }.joined(separator: "; ")
    }
}

/// The result of a statement, in binary form.
final class PostgreSQLResult {
    private let result: OpaquePointer

    init(taking result: OpaquePointer) {
        self.result = result
    }

    deinit { PQclear(result) }

    fileprivate var failure: PostgreSQLSession.Failure? {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK: return nil
        default:
            let code = PQresultErrorField(result, CInt(UInt8(ascii: "C")))
            let text = PQresultErrorField(result, CInt(UInt8(ascii: "M")))
            return PostgreSQLSession.Failure(
                kind: .refused(code.map { String(cString: $0) } ?? ""),
                text: text.map { PostgreSQLSession.oneLine(String(cString: $0)) }
                    ?? "no reason given"
            )
        }
    }

    var rowCount: Int { Int(PQntuples(result)) }

    /// Rows that the statement inserted or deleted.
    var changedCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// nil: the value is NULL.
    func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        let (row, column) = (CInt(row), CInt(column))
        guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column)
        else { return nil }
        let count = Int(PQgetlength(result, row, column))
        return [UInt8](UnsafeRawBufferPointer(start: value, count: count))
    }

    func text(_ row: Int, _ column: Int) -> String? {
        bytes(row, column).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A bigint.
    func number(_ row: Int, _ column: Int) -> Int64? {
        guard let bytes = bytes(row, column), bytes.count == 8 else { return nil }
        return bytes.reduce(0) { $0 << 8 | Int64($1) }
    }
}

extension [PostgreSQLSession.Value] {
    /// Passes the values as libpq takes them: numbers and bytes in binary form.
    fileprivate func withParameters(
        _ body: (
            CInt, UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<CInt>?, UnsafePointer<CInt>?
        ) -> CInt
    ) -> CInt {
        let contents: [[UInt8]] = map { value in
            switch value {
            // libpq reads text up to its NUL.
            case .text(let text): Array<UInt8>(text.utf8) + [0]
            case .number(let number):
                (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * Int64($0))) }
            // A pointer is needed for no bytes too: nil is NULL.
            case .bytes(let bytes): bytes.isEmpty ? [0] : bytes
            }
        }
        let lengths: [CInt] = zip(self, contents).map { value, content in
            if case .bytes(let bytes) = value { CInt(bytes.count) } else { CInt(content.count) }
        }
        let formats: [CInt] = map { value in
            if case .text = value { 0 } else { 1 }
        }
        var pointers: [UnsafePointer<CChar>?] = []
        func lend(_ index: Int) -> CInt {
            guard index < contents.count else {
                return body(CInt(contents.count), pointers, lengths, formats)
            }
            return contents[index].withUnsafeBytes { bytes in
                pointers.append(bytes.assumingMemoryBound(to: CChar.self).baseAddress)
                return lend(index + 1)
            }
        }
        return lend(0)
    }
}
