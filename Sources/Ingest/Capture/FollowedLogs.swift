import Queue
import System

/// What became of a captured request's logs up to now, by their copies for destinations.
package struct LogProgress: Sendable {
    /// The ids that are kept; `dead` counts all.
    package static let lettersMax = 100

    /// The first attempts to deliver packets with the logs.
    package var attempts: [CaptureRecord.Attempt] = []
    package var waiting = 0
    package var delivered = 0
    package var dead = 0
    package var expired = 0
    package var discarded = 0
    /// The dead letters that the first of the dead logs became.
    package var letters: [Int64] = []
    /// True: what becomes of the waiting logs may never be told.
    package var isUncertain = false

    /// One word for all logs. While some wait nothing is certain; then the worst end counts.
    package var outcome: String {
        if waiting > 0 { return isUncertain ? "unknown" : "waiting" }
        if dead > 0 { return "dead" }
        if expired > 0 { return "expired" }
        if discarded > 0 { return "discarded" }
        return delivered > 0 ? "delivered" : "none"
    }
}

/// The stored logs of a captured request on their way out of the queue.
///
/// It is told of attempts and ends from the moment before the queue has the logs, so none comes too early for it. The
/// records of the request keep it. When they go, nothing is followed any more.
package final class FollowedLogs: Sendable {
    private struct State {
        /// The logs that are in the queue.
        var places: [BatchTrack.Place] = []
        /// All but `waiting`, which follows from the places.
        var progress = LogProgress()
        /// The request has its answer, so all its logs have their places.
        var isStored = false
    }

    private let tracks: [BatchTrack]
    private let state = Locked(State())

    init(_ tracks: [BatchTrack]) {
        self.tracks = tracks
    }

    package var progress: LogProgress {
        read { state in
            var progress = state.progress
            progress.waiting = state.places.reduce(0) { $0 + $1.numbers.count }
            return progress
        }
    }

    /// True when all its logs have come to an end.
    var isDone: Bool { read { $0.isStored && $0.places.isEmpty } }

    /// Called when the request is answered.
    func stored() { state.withLock { $0.isStored = true } }

    func loseTrack() { state.withLock { $0.progress.isUncertain = true } }

    func note(_ attempt: PacketAttempt) {
        read { state in
            let carried = state.places.map { attempt.packet.numbers(of: $0) }
            guard carried.contains(where: { $0 != nil }) else { return }
            if state.progress.attempts.count < CaptureRecord.attemptsMax {
                state.progress.attempts.append(.init(attempt: attempt))
            }
            // The queue tells the end of other logs itself.
            guard attempt.result == "stored" else { return }
            state.places = zip(state.places, carried).flatMap { place, numbers in
                guard let numbers else { return [place] }
                state.progress.delivered += numbers.count
                return place.without(numbers, movesThrough: nil)
            }
        }
    }

    func note(_ ended: EndedLogs) {
        read { state in
            state.places = state.places.flatMap { place -> [BatchTrack.Place] in
                let through = ended.movesThrough ?? ended.numbers.upperBound
                guard place.stream == ended.stream, ended.numbers.lowerBound <= through,
                    place.numbers.overlaps(ended.numbers.lowerBound...through)
                else { return [place] }
                if place.numbers.overlaps(ended.numbers) {
                    state.progress.count(place.numbers.clamped(to: ended.numbers), of: ended)
                }
                return place.without(ended.numbers, movesThrough: ended.movesThrough)
            }
        }
    }

    @discardableResult
    private func read<Value>(_ body: (inout State) -> Value) -> Value {
        state.withLock { state in
            for news in tracks.map({ $0.takeNews() }) {
                state.places += news.places
                state.progress.dead += news.letters.count
                state.progress.keep(news.letters)
                state.progress.discarded += news.dropped
            }
            return body(&state)
        }
    }
}

extension LogProgress {
    fileprivate mutating func count(_ numbers: ClosedRange<Int64>, of ended: EndedLogs) {
        switch ended.end {
        case .expired: expired += numbers.count
        case .discarded: discarded += numbers.count
        case .dead(let ids):
            dead += numbers.count
            guard ids.count == ended.numbers.count else { return keep(ids) }
            let first = Int(numbers.lowerBound - ended.numbers.lowerBound)
            keep(ids[first..<first + numbers.count])
        }
    }

    fileprivate mutating func keep(_ ids: some Collection<Int64>) {
        letters += ids.prefix(Self.lettersMax - letters.count)
    }
}

extension BatchTrack.Place {
    /// What is left without these numbers. Those behind them move up if they are not behind `movesThrough`.
    fileprivate func without(
        _ gone: ClosedRange<Int64>,
        movesThrough: Int64?
    ) -> [BatchTrack.Place] {
        var left: [ClosedRange<Int64>] = []
        if numbers.lowerBound < gone.lowerBound {
            left.append(numbers.lowerBound...min(numbers.upperBound, gone.lowerBound - 1))
        }
        if gone.upperBound < numbers.upperBound {
            var rest = max(numbers.lowerBound, gone.upperBound + 1)...numbers.upperBound
            if let movesThrough, rest.upperBound <= movesThrough {
                let step = Int64(gone.count)
                rest = rest.lowerBound - step...rest.upperBound - step
            }
            if let before = left.last, before.upperBound + 1 == rest.lowerBound {
                left = [before.lowerBound...rest.upperBound]
            } else {
                left.append(rest)
            }
        }
        return left.map { Self(stream: stream, row: row, numbers: $0) }
    }
}
