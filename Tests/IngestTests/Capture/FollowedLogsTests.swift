import Logs
import Queue
import System
import TestSupport
import Testing

@testable import Ingest

@Suite struct FollowedLogsTests {
    /// Twenty logs of stream 1, the row's numbers 100 to 119.
    private func followed(
        _ numbers: ClosedRange<Int64> = 100...119,
        bytesMax: Int = 1 << 20
    ) -> FollowedLogs {
        var news = BatchTrack.News()
        news.places = [BatchTrack.Place(stream: .home(1), row: 100, numbers: numbers)]
        return FollowedLogs(news, within: CaptureBudget(bytesMax: bytesMax))
    }

    @Test("The word for all logs is their worst end, and waits for the last of them")
    func words() {
        let logs = followed()
        #expect(logs.progress.outcome == "waiting" && logs.progress.waiting == 20)
        logs.note([EndedLogs(stream: .home(1), numbers: 110...119, end: .expired)])
        #expect(logs.progress.outcome == "waiting" && !logs.isDone)
        logs.note([EndedLogs(stream: .home(1), numbers: 109...109, end: .dead([7]))])
        logs.note([EndedLogs(stream: .home(1), numbers: 108...108, end: .discarded)])
        logs.note(attempt(100...100, logs: 8))
        let progress = logs.progress
        #expect(progress.outcome == "dead" && logs.isDone)
        #expect(progress.delivered == 8 && progress.expired == 10)
        #expect(progress.discarded == 1 && progress.dead == 1 && progress.letters == [7])
        #expect(progress.attempts.count == 1)
        let nothing = FollowedLogs(BatchTrack.News(), within: CaptureBudget(bytesMax: 0))
        #expect(nothing.progress.outcome == "none" && nothing.isDone)
    }

    @Test("Copies that were skipped do not count as delivered")
    func skipped() {
        var news = BatchTrack.News()
        news.places = [BatchTrack.Place(stream: .home(1), row: 100, numbers: 100...119)]
        news.skipped = 20
        let logs = FollowedLogs(news, within: CaptureBudget(bytesMax: 0))
        #expect(logs.progress.outcome == "waiting")
        logs.note(attempt(100...100, logs: 20))
        #expect(logs.progress.delivered == 20 && logs.progress.skipped == 20)
        #expect(logs.progress.outcome == "skipped")
    }

    @Test("A refused packet is not the end of its logs, even of a single one")
    func refused() {
        let logs = followed(100...100)
        logs.note(attempt(100...100, logs: 1, "split"))
        #expect(logs.progress.outcome == "waiting" && logs.progress.attempts.count == 1)
        logs.note([EndedLogs(stream: .home(1), numbers: 100...100, end: .dead([7]))])
        #expect(logs.progress.outcome == "dead" && logs.isDone)
    }

    @Test("A packet of another stream carries nothing, though its rows lie around")
    func otherStream() {
        let logs = followed()
        logs.note(attempt(90...130, logs: 20, stream: 2))
        logs.note([EndedLogs(stream: .home(2), numbers: 90...130, end: .expired)])
        let sameNumber = StreamID(shard: Shard(number: 1), number: 1)
        logs.note([EndedLogs(stream: sameNumber, numbers: 90...130, end: .expired)])
        #expect(logs.progress.outcome == "waiting" && logs.progress.attempts.isEmpty)
        logs.note(attempt(90...130, logs: 30))
        #expect(logs.progress.outcome == "delivered")
    }

    @Test("Logs after those that were taken out of their row move up")
    func movesUp() {
        // Row 100 has thirty logs; the request's are the last twenty.
        let logs = followed(110...129)
        logs.note([
            EndedLogs(
                stream: .home(1),
                numbers: 112...113,
                end: .dead([8, 9]),
                renumberedThrough: 129
            )
        ])
        logs.note([
            EndedLogs(
                stream: .home(1),
                numbers: 100...104,
                end: .dead([1, 2]),
                renumberedThrough: 129
            )
        ])
        #expect(logs.progress.waiting == 18 && logs.progress.letters == [8, 9])
        // The rest of the row is 23 logs; the last 18 are the request's.
        logs.note(attempt(100...100, logs: 23))
        #expect(logs.progress.outcome == "dead" && logs.progress.delivered == 18 && logs.isDone)
    }

    @Test("Ids of dead letters are those of the request's logs, and a bounded number")
    func letters() {
        let logs = followed(105...119)
        let ids = (1000...1019).map { Int64($0) }
        logs.note([EndedLogs(stream: .home(1), numbers: 100...119, end: .dead(ids))])
        #expect(logs.progress.letters == (1005...1019).map { Int64($0) })
        var news = BatchTrack.News()
        news.letters = Array(1...500)
        let many = FollowedLogs(news, within: CaptureBudget(bytesMax: 0))
        #expect(many.progress.dead == 500)
        #expect(many.progress.letters == Array(1...Int64(LogProgress.lettersMax)))
        #expect(many.progress.outcome == "dead" && many.isDone)
    }

    @Test("What may never be told is unknown, until it is told after all")
    func loseTrack() {
        let logs = followed()
        logs.loseTrack()
        #expect(logs.progress.outcome == "unknown" && !logs.isDone)
        logs.note(attempt(100...100, logs: 20))
        #expect(logs.progress.outcome == "delivered")
    }

    @Test("Attempts are kept while there is room in number and bytes, and the others are counted")
    func attemptsLeftOut() {
        let one = attempt(100...100, logs: 20, "tried again")
        let many = followed()
        for _ in 0..<CaptureRecord.attemptsMax + 3 { many.note(one) }
        #expect(many.progress.attempts.count == CaptureRecord.attemptsMax)
        #expect(many.progress.attemptsLeftOut == 3)
        let few = followed(bytesMax: 2 * one.weight)
        for _ in 0..<5 { few.note(one) }
        #expect(few.progress.attempts.count == 2 && few.progress.attemptsLeftOut == 3)
        few.note(attempt(100...100, logs: 20))
        #expect(few.progress.outcome == "delivered")
    }

    @Test("An attempt does not keep the packet's content")
    func content() {
        #expect(attempt(100...100, logs: 20).packet.recent == nil)
    }

    @Test("Logs whose places take more bytes than there are become unknown, and count on")
    func tooManyPlaces() {
        let logs = followed(bytesMax: 100)
        logs.note([EndedLogs(stream: .home(1), numbers: 105...105, end: .expired)])
        #expect(logs.progress.outcome == "waiting")
        logs.note([EndedLogs(stream: .home(1), numbers: 110...110, end: .expired)])
        #expect(logs.progress.outcome == "unknown" && logs.isDone)
        #expect(logs.progress.waiting == 18 && logs.progress.expired == 2)
    }
}

@Suite(.timeLimit(.minutes(10))) struct FollowedRequestsTests {
    private let captures = Captures(bytesMax: 64 << 20)

    /// A capture with as many records as asked for. Each has ten logs in the row `100 * (index +
    /// 1)` of stream 1.
    private func session(_ records: Int, firstRow: Int64 = 100) throws -> CaptureSession {
        var limits = CaptureSession.Limits()
        limits.records = CaptureSession.Limits.recordsMax
        limits.bytes = CaptureSession.Limits.bytesMost
        let session = try captures.start(CaptureFilter(), limits, by: "test")
        for index in 0..<records {
            var news = BatchTrack.News()
            let row = firstRow + 100 * Int64(index)
            news.places = [BatchTrack.Place(stream: .home(1), row: row, numbers: row...row + 9)]
            captures.keep(record, news, in: session)
        }
        return session
    }

    private var record: CaptureRecord {
        CaptureRecord(
            time: .now,
            method: "POST",
            path: "/",
            query: nil,
            minorVersion: 1,
            address: "a",
            fields: []
        )
    }

    private func expired(_ numbers: ClosedRange<Int64>, stream: Int64 = 1) -> EndedLogs {
        EndedLogs(stream: .home(stream), numbers: numbers, end: .expired)
    }

    private func outcomes(_ session: CaptureSession) -> [String] {
        session.records.map(\.progress.outcome)
    }

    @Test("News reach the records that have the logs, by rows, parts of rows and several rows")
    func finds() throws {
        let session = try session(5)
        captures.note([
            expired(200...209), expired(300...309, stream: 2), expired(405...409), expired(1...99),
        ])
        captures.note(attempt(300...300, logs: 10))
        captures.note(attempt(500...520, logs: 10))
        captures.tellNews()
        #expect(outcomes(session) == ["waiting", "expired", "delivered", "waiting", "delivered"])
        #expect(session.records[3].progress.expired == 5)
        captures.note([expired(100...109)])
        captures.note(attempt(400...400, logs: 5))
        captures.tellNews()
        #expect(outcomes(session)[0] == "expired" && outcomes(session)[3] == "expired")
        #expect(!captures.wantsAttempts)
    }

    @Test("Several records share a row, and any part of the row may leave")
    func sharedRow() throws {
        let session = try session(0)
        for index in 0..<3 {
            var news = BatchTrack.News()
            let first = 100 + 10 * Int64(index)
            news.places = [BatchTrack.Place(stream: .home(1), row: 100, numbers: first...first + 9)]
            captures.keep(record, news, in: session)
        }
        // The row was cut in two at 115.
        captures.note([expired(115...129)])
        captures.note(attempt(100...100, logs: 15))
        captures.tellNews()
        #expect(outcomes(session) == ["delivered", "expired", "expired"])
        #expect(session.records[1].progress.delivered == 5)
    }

    @Test("News of many rows cost little beside many followed requests")
    func cost() throws {
        let sessions = [try session(1000), try session(1000, firstRow: 100_100)]
        let all = (0..<4000).map { expired(100 + 100 * $0...109 + 100 * $0) }
        let start = Moment.now
        captures.note(all)
        captures.tellNews()
        for _ in 0..<1000 { captures.note(attempt(1_000_000...1_000_000, logs: 10)) }
        // One after the other, each of 4,000 rows would be shown to each of 2,000 requests: minutes
        // in a debug build.
        #expect(Moment.now - start < .seconds(5).calibrated())
        for session in sessions { #expect(outcomes(session).allSatisfy { $0 == "expired" }) }
        #expect(!captures.wantsAttempts)
    }

    @Test("Beyond the bound the oldest are unknown, and what a capture forgot is not followed")
    func bounds() throws {
        let first = try session(1000)
        let others = [try session(1000, firstRow: 200_000), try session(1, firstRow: 400_000)]
        captures.tellNews()
        #expect(outcomes(first)[0] == "unknown" && outcomes(first)[1] == "waiting")
        for session in others { #expect(outcomes(session).allSatisfy { $0 == "waiting" }) }
        captures.loseTrack()
        captures.tellNews()
        for session in others { #expect(outcomes(session).allSatisfy { $0 == "unknown" }) }
        captures.note(attempt(400_000...400_000, logs: 10))
        captures.tellNews()
        #expect(outcomes(others[1]) == ["delivered"])
        #expect(captures.wantsAttempts)
        for session in [first] + others { #expect(captures.remove(session.id)) }
        captures.tellNews()
        #expect(!captures.wantsAttempts)
    }

    @Test("News beyond their bound are lost, so the records of then are unknown and later ones not")
    func newsMax() throws {
        let early = try session(2)
        let many = [EndedLogs](
            repeating: expired(100...109),
            count: Captures.newsBytesMax / 64 + 1
        )
        captures.note(many)
        let late = try session(1, firstRow: 9000)
        captures.tellNews()
        #expect(outcomes(early) == ["unknown", "unknown"] && outcomes(late) == ["waiting"])
        captures.note([expired(100...109), expired(200...209)])
        captures.tellNews()
        #expect(outcomes(early) == ["expired", "expired"])
    }

    @Test("The thread tells the news")
    func thread() throws {
        try captures.start()
        defer { captures.stop() }
        let session = try session(1)
        captures.note(attempt(100...100, logs: 10))
        #expect(eventually { outcomes(session) == ["delivered"] })
    }

    @Test("The thread hears of lost news, even if none came before")
    func lossWakes() throws {
        try captures.start()
        defer { captures.stop() }
        let session = try session(2)
        captures.note(attempt(100...100, logs: 10))
        #expect(eventually { outcomes(session) == ["delivered", "waiting"] })
        captures.note([EndedLogs](repeating: expired(1...1), count: Captures.newsBytesMax / 64 + 1))
        #expect(eventually { outcomes(session) == ["delivered", "unknown"] })
    }

    // MARK: - Which requests are followed

    private static let loki =
        #"{"streams":[{"stream":{"job":"a"},"values":[["1767225600000000000","m"]]}]}"#

    private func listener(status: Int) throws -> (DeviceListener, CaptureSession) {
        let end = try DeviceListener()
        var filter = CaptureFilter()
        filter.status = status
        let session = try end.shared.captures.start(filter, .init(), by: "test")
        return (end, session)
    }

    @Test("A capture of refusals follows no accepted request")
    func refusals() throws {
        let (end, session) = try listener(status: 4)
        #expect(try end.client.post("/logs/app", #"{"m":"1"}"#.utf8).status == 200)
        #expect(try end.client.post("/logs/app", "{bad".utf8).status == 400)
        #expect(end.queue.stored.count == 1 && end.queue.stored[0].track == nil)
        #expect(!end.shared.captures.wantsAttempts)
        #expect(session.records.map(\.answer?.status) == [400])
    }

    @Test("A request is followed when a capture keeps it, whatever its dialect answers")
    func noContent() throws {
        let (end, session) = try listener(status: 204)
        #expect(try end.client.post("/logs/app", #"{"m":"1"}"#.utf8).status == 200)
        #expect(!end.shared.captures.wantsAttempts && session.records.isEmpty)
        let json: KeyValuePairs = ["content-type": "application/json"]
        let answer = try end.client.post("/loki/api/v1/push", Self.loki.utf8, json)
        #expect(answer.status == 204)
        #expect(session.records.map(\.logCount) == [1])
        #expect(session.records.first?.progress.outcome == "waiting")
        #expect(end.shared.captures.wantsAttempts)
    }
}

/// An attempt to send a packet of the stream with this number.
private func attempt(
    _ rows: ClosedRange<Int64>,
    logs: Int,
    stream: Int64 = 1,
    _ result: String = "stored"
) -> PacketAttempt {
    PacketAttempt(
        packet: SealedPacket(
            id: .home(1),
            stream: StreamKey(
                destination: "app",
                logstore: "app",
                trailer: GroupTrailer(topic: "", source: "", tags: [])
            ),
            streamID: .home(stream),
            packID: "p",
            rows: rows,
            logCount: logs,
            rawBytes: 1,
            oldest: .now,
            recent: [StoredBlock(compressed: [1], rawBytes: 1)]
        ),
        endpoint: "e",
        address: "a",
        resolver: nil,
        started: .now,
        time: .zero,
        connectTime: nil,
        status: 200,
        code: nil,
        message: "",
        requestID: nil,
        result: result
    )
}
