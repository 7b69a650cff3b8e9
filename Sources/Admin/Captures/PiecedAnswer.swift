import HTTP
import Synchronization
import System

/// Streams a long answer from a worker thread, one piece at a time, each after the client has read the last. So an
/// answer of any length holds the memory of one piece, and a slow client holds no thread.
final class PiecedAnswer: Sendable {
    /// How many are written at a time; each holds a piece.
    static let countMax = 4
    /// Pieces up to this size are written together.
    private static let bytesTogether = 256 << 10
    /// No bound for a single piece: the budget for answers decides.
    private static let unsentBytesMax = 64 << 20
    private static let count = Atomic<Int>(0)

    private let worker: SerialWorker
    private let head: Response
    private let responder: Responder
    /// The piece of a number from 0 on; nil behind the last one.
    private let piece: @Sendable (Int) -> [UInt8]?
    private let position = Atomic<Int>(0)

    /// `responder` must be the request's own; a wrapped one cannot stream.
    static func send(
        _ head: Response,
        to responder: Responder,
        on worker: SerialWorker,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) throws(HTTPProblem) {
        guard count.add(1, ordering: .relaxed).oldValue < countMax else {
            count.subtract(1, ordering: .relaxed)
            throw HTTPProblem(
                503,
                "ServerBusy",
                "\(countMax) exports are running, the most at a time; retry when one ends"
            )
        }
        let answer = PiecedAnswer(worker, head, responder, piece)
        guard worker.post({ answer.begin() }) else { throw .tooManyViews }
    }

    private init(
        _ worker: SerialWorker,
        _ head: Response,
        _ responder: Responder,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) {
        (self.worker, self.head, self.responder, self.piece) = (worker, head, responder, piece)
    }

    deinit { Self.count.subtract(1, ordering: .relaxed) }

    private func begin() {
        // Nil: the request was HEAD.
        guard let stream = responder.stream(head, unsentBytesMax: Self.unsentBytesMax) else {
            return
        }
        write(to: stream)
    }

    /// A stream that is not continued ends here, and the client sees that its answer is cut.
    private func write(to stream: ResponseStream) {
        var written = 0
        while written < Self.bytesTogether {
            guard let piece = piece(position.add(1, ordering: .relaxed).oldValue) else {
                return stream.finish()
            }
            guard stream.write(piece) else { return }
            written += piece.count
        }
        stream.whenSent { [self] in
            guard stream.isOpen else { return }
            _ = worker.post(continuing: true) { self.write(to: stream) }
        }
    }
}
