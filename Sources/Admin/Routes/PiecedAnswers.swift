import Configuration
import HTTP
import System

extension AdminCall {
    /// Sends a long answer. The pieces have numbers from 0 on; nil is behind the last one.
    func send(
        _ response: Response,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) throws(HTTPProblem) {
        guard let stream, let visitor else { return }
        let head = response.labelled(stream.label)
        try stream.exports.send(head, for: visitor.holder, to: stream.responder, piece)
    }
}

/// Streams long answers from a worker thread, one piece at a time, each after the client has read
/// the last. So an answer of any length holds the memory of one piece, and a slow client holds no
/// thread. The listener resets the connection of one that takes nothing for half a minute.
final class PiecedAnswers: Sendable {
    /// How many are written at a time; each holds a piece.
    fileprivate let places = AdminPlaces(4)
    fileprivate let worker: SerialWorker

    init(on worker: SerialWorker) {
        self.worker = worker
    }

    /// `responder` must be the request's own; a wrapped one cannot stream.
    fileprivate func send(
        _ head: Response,
        for holder: AdminHolder,
        to responder: Responder,
        _ piece: @escaping @Sendable (Int) -> [UInt8]?
    ) throws(HTTPProblem) {
        guard let place = places.take(for: holder) else {
            throw .busy(
                "\(places.shares.ofToken) exports or long dead letters of a token are sent at a time, and "
                    + "\(places.shares.all) of all; retry when one ends"
            )
        }
        let answer = PiecedAnswer(
            worker: worker,
            place: place,
            head: head,
            responder: responder,
            piece: piece
        )
        guard worker.post({ answer.begin() }) else { throw .tooManyViews }
    }
}

private struct PiecedAnswer {
    /// Pieces up to this size are written together.
    private static let bytesTogether = 256 << 10
    /// No bound for a single piece: the budget for answers decides.
    private static let unsentBytesMax = 64 << 20

    let worker: SerialWorker
    let place: AdminPlaces.Place
    let head: Response
    let responder: Responder
    let piece: @Sendable (Int) -> [UInt8]?
    let position = Locked(0)

    func begin() {
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
            let number = position.withLock { position in
                defer { position += 1 }
                return position
            }
            guard let piece = piece(number) else { return stream.finish() }
            guard stream.write(piece) else { return }
            written += piece.count
        }
        stream.whenSent {
            guard stream.isOpen else { return }
            _ = worker.post(continuing: true) { write(to: stream) }
        }
    }
}
