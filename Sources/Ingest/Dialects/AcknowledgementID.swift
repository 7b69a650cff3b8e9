import Configuration
import HTTP
import Logs
import Synchronization
import System

/// The id with which a Splunk client asks whether its events are safe: the microsecond of the
/// answer since 1970, or the next free one.
///
/// An id is issued only after the commit, so an issued id means that its events are on disk.
/// Nothing is stored for it: another gateway behind the same name, or a restarted one, gives the
/// same answer. Ids of another server (Splunk counts from zero) lie before the first possible id,
/// and are not confirmed: their sender repeats the events.
struct AcknowledgementID: Equatable {
    /// From 2026-01-01 to 2106, the last year of logs' times.
    private static let issued: Range<UInt64> = 1_767_225_600_000_000..<4_294_967_296_000_000
    private static let last = Atomic<UInt64>(issued.lowerBound)

    let number: UInt64

    /// An id that no other answer has.
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

/// A question about ids, and the answer: `{"acks":{"7":true}}`.
struct AcknowledgementQuery {
    /// Clients ask again for ids that an answer leaves out, so the bound keeps a small question
    /// from causing a huge answer.
    private static let idsMax = 1 << 16
    /// Twenty digits in quotes, a colon, `false` and a comma.
    private static let bytesOfID = 29

    let ids: [AcknowledgementID]

    init(_ request: LogRequest, _ decoder: BodyDecoder) throws(Refusal) {
        let room = request.limits.http.answerBytes - #"{"acks":{}}"#.utf8.count
        do throws(LogDecodingError) {
            ids = try decoder.json.decodeAcknowledgements(
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
