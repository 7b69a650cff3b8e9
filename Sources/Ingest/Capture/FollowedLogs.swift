package import Queue
import System

/// What became of a captured request's logs up to now, by their copies for destinations.
package struct LogProgress: Sendable {
    /// The ids that are kept; `dead` counts all.
    package static let lettersMax = 100

    /// The first attempts to deliver packets with the logs.
    package var attempts: [PacketAttempt] = []
    /// Attempts that are not kept: there were too many, or the capture has no bytes left.
    package var attemptsLeftOut = 0
    package var waiting = 0
    package var delivered = 0
    package var dead = 0
    package var expired = 0
    package var discarded = 0
    /// Copies that an optional destination had no room for.
    package var skipped = 0
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
        if skipped > 0 { return "skipped" }
        return delivered > 0 ? "delivered" : "none"
    }
}

/// The logs of a captured request on their way out of the queue, from the answer on: then the queue
/// has told where all of them are. The record keeps it.
package final class FollowedLogs: Sendable {
    /// A place, and its share of the lists that have it.
    private static let placeBytes = 96

    private struct State {
        /// The logs that are in the queue.
        var places: [BatchTrack.Place]
        /// The most places that the budget was charged for. Logs that leave the middle of a place
        /// make two of it.
        var placesMax: Int
        /// Waiting logs whose places are not known any more.
        var lost = 0
        /// All but `waiting`, which follows from the places.
        var progress = LogProgress()
    }

    private let budget: CaptureBudget
    /// The numbers that the logs may have. They tell without the lock that most news concern
    /// others.
    private let numbers: ClosedRange<Int64>
    private let state: Locked<State>
    /// About the memory that it takes at its start. What comes later is charged to the budget as it
    /// comes.
    let weight: Int

    /// `news` are those of the request's batches.
    init(_ news: BatchTrack.News, within budget: CaptureBudget) {
        self.budget = budget
        // Numbers never fall below that of their row.
        let first = news.places.map(\.row).min() ?? 0
        numbers = first...(news.places.map(\.numbers.upperBound).max() ?? first)
        var state = State(places: news.places, placesMax: news.places.count)
        state.progress.dead = news.letters.count
        state.progress.keep(news.letters)
        state.progress.discarded = news.dropped
        state.progress.skipped = news.skipped
        self.state = Locked(state)
        weight =
            news.places.count * Self.placeBytes
            + LogProgress.lettersMax * MemoryLayout<Int64>.size
    }

    package var progress: LogProgress {
        state.withLock { state in
            var progress = state.progress
            progress.waiting = state.places.reduce(state.lost) { $0 + $1.numbers.count }
            return progress
        }
    }

    /// True when no log is left to be followed.
    var isDone: Bool { state.withLock(\.places.isEmpty) }

    /// Some news were lost. Later ones may still tell the end.
    func loseTrack() { state.withLock { $0.progress.isUncertain = true } }

    /// Nothing will be told any more.
    func giveUp() { state.withLock { giveUp(&$0) } }

    private func giveUp(_ state: inout State) {
        state.lost += state.places.reduce(0) { $0 + $1.numbers.count }
        state.places = []
        state.progress.isUncertain = true
    }

    func note(_ attempt: PacketAttempt) {
        let rows = attempt.packet.rows
        let last = max(rows.upperBound, rows.lowerBound + Int64(attempt.packet.logCount))
        guard mayHave(rows.lowerBound, last) else { return }
        update { state in
            let carried = state.places.map { attempt.packet.numbers(of: $0) }
            guard carried.contains(where: { $0 != nil }) else { return }
            if state.progress.attempts.count < CaptureRecord.attemptsMax,
                budget.take(attempt.weight)
            {
                state.progress.attempts.append(attempt)
            } else {
                state.progress.attemptsLeftOut += 1
            }
            // The queue tells the end of other logs itself.
            guard attempt.result == "stored" else { return }
            state.places = zip(state.places, carried).flatMap { place, numbers in
                guard let numbers else { return [place] }
                state.progress.delivered += numbers.count
                return place.without(numbers, renumberedThrough: nil)
            }
        }
    }

    /// In the order in which they came.
    func note(_ all: [EndedLogs]) {
        let concerned = all.filter { mayHave($0.numbers.lowerBound, $0.affected.upperBound) }
        guard !concerned.isEmpty else { return }
        update { state in for ended in concerned { Self.note(ended, in: &state) } }
    }

    func mayHave(_ first: Int64, _ last: Int64) -> Bool {
        first <= numbers.upperBound && numbers.lowerBound <= last
    }

    private static func note(_ ended: EndedLogs, in state: inout State) {
        let affected = ended.affected
        let isAffected = { (place: BatchTrack.Place) in
            place.stream == ended.stream && place.numbers.overlaps(affected)
        }
        guard state.places.contains(where: isAffected) else { return }
        state.places = state.places.flatMap { place in
            guard isAffected(place) else { return [place] }
            if place.numbers.overlaps(ended.numbers) {
                state.progress.count(place.numbers.clamped(to: ended.numbers), of: ended)
            }
            return place.without(ended.numbers, renumberedThrough: ended.renumberedThrough)
        }
    }

    /// Changes the places, and charges the budget for more of them. Without the bytes for more, the
    /// logs are given up.
    private func update(_ change: (inout State) -> Void) {
        state.withLock { state in
            change(&state)
            let more = state.places.count - state.placesMax
            guard more > 0 else { return }
            guard budget.take(more * Self.placeBytes) else { return giveUp(&state) }
            state.placesMax += more
        }
    }
}

extension EndedLogs {
    /// The numbers that the end removes or changes.
    var affected: ClosedRange<Int64> {
        numbers.lowerBound...max(numbers.upperBound, renumberedThrough ?? numbers.upperBound)
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
    /// What is left without these numbers. Those after them move up if they are not after
    /// `renumberedThrough`.
    fileprivate func without(
        _ gone: ClosedRange<Int64>,
        renumberedThrough: Int64?
    ) -> [BatchTrack.Place] {
        var left: [ClosedRange<Int64>] = []
        if numbers.lowerBound < gone.lowerBound {
            left.append(numbers.lowerBound...min(numbers.upperBound, gone.lowerBound - 1))
        }
        if gone.upperBound < numbers.upperBound {
            var rest = max(numbers.lowerBound, gone.upperBound + 1)...numbers.upperBound
            if let renumberedThrough, rest.upperBound <= renumberedThrough {
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
