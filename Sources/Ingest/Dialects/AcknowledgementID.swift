import Configuration
import HTTP
import Logs
import Synchronization
import System

/// What a client of Splunk asks about later, to hear that its events are safe: the microsecond of the answer since 1970,
/// or the next one where that is taken.
///
/// An id is issued after the commit only, so every id that was issued means that the events are on disk. Nothing is
/// remembered for it: the answer is the same from another gateway behind the same name, and after a restart. Ids of
/// another server (Splunk counts from zero) lie before the first that this program can have issued, and are not
/// confirmed: their sender repeats the events.
struct AcknowledgementID: Equatable {
    /// 2026-01-01, and 2106 as for the times of logs.
    private static let issued: Range<UInt64> = 1_767_225_600_000_000..<4_294_967_296_000_000
    private static let last = Atomic<UInt64>(issued.lowerBound)

    let number: UInt64

    /// One that no other answer has.
    static func next(at now: WallTime = .now) -> AcknowledgementID {
        let microsecond = UInt64(clamping: now.nanoseconds / 1000)
        var before = last.load(ordering: .relaxed)
        while true {
            let number = max(before + 1, microsecond)
            let (isDone, found) = last.compareExchange(
                expected: before,
                desired: number,
                ordering: .relaxed
            )
            if isDone { return AcknowledgementID(number: number) }
            before = found
        }
    }

    var isIssued: Bool { Self.issued.contains(number) }
}

/// What a client asks about, and the answer: `{"acks":{"7":true}}`.
struct AcknowledgementQuery {
    /// Clients ask again for what an answer leaves out, so a small question cannot become an enormous answer.
    private static let idsMax = 1 << 16
    /// Twenty digits in quotes, a colon, `false` and a comma.
    private static let bytesOfID = 29

    let ids: [AcknowledgementID]

    init(_ request: LogRequest, _ reader: BodyDecoder) throws(Refusal) {
        let room = request.limits.http.answerBytes - #"{"acks":{}}"#.utf8.count
        do throws(LogDecodingError) {
            ids = try reader.decoder.decodeAcknowledgements(
                request.content,
                request.timing,
                atMost: min(Self.idsMax, room / Self.bytesOfID)
            ).map { AcknowledgementID(number: $0) }
        } catch {
            throw Refusal(error)
        }
    }

    var answer: String {
        var text = #"{"acks":{"#
        var told: Set<UInt64> = []
        for id in ids where told.insert(id.number).inserted {
            if text.utf8.last != UInt8(ascii: "{") { text += "," }
            text += "\"\(id.number)\":\(id.isIssued)"
        }
        return text + "}}"
    }
}
