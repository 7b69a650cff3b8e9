import Logs
import Queue
import System
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

    private func attempt(
        _ rows: ClosedRange<Int64>,
        logs: Int,
        stream: Int64 = 1,
        _ result: String = "stored"
    ) -> PacketAttempt {
        let packet = SealedPacket(
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
        )
        return PacketAttempt(
            packet: packet,
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
