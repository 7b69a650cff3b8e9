package import CommitLog
import System

/// A commit log in memory, which several writers may share. What goes wrong is planned.
package final class MemoryCommitLog: CommitLog {
    /// What happens to an append.
    package enum Fault: Equatable, Sendable {
        /// It comes through, and its answer is lost.
        case unanswered
        /// It is lost on its way.
        case lost
        /// Only so many parts come through.
        case cut(Int)
        /// It comes through after the next append that does, unless the fence keeps it out by then.
        case late
        case noRoom
        case away
    }

    fileprivate struct Waiting {
        let parts: [[UInt8]]
        let last: UInt64
        let id: AppendID
    }

    fileprivate struct State {
        var entries: [NumberedEntry] = []
        var last: UInt64 = 0
        /// Where the parts of appends are.
        var known: [AppendID: [UInt64]] = [:]
        var plan: [Fault?] = []
        var late: [Waiting] = []
        var appends = 0
        var bytes = 0
    }

    private let state = Locked(State())

    package init() {}

    /// A log that has these entries.
    package init(_ entries: [NumberedEntry]) {
        state.withLock { state in
            state.entries = entries
            state.last = entries.last?.number ?? 0
        }
    }

    package var entries: [NumberedEntry] { state.withLock(\.entries) }
    /// Appends that came through.
    package var appends: Int { state.withLock(\.appends) }
    package var bytes: Int { state.withLock(\.bytes) }

    /// What happens to the next appends, one after the other; nil: nothing.
    package func plan(_ faults: [Fault?]) { state.withLock { $0.plan = faults } }

    /// The engine forgets which appends it has seen, as it does after some minutes.
    package func forgetAppends() { state.withLock { $0.known = [:] } }

    /// Changes what lies in the log.
    package func damage(_ change: (inout [NumberedEntry]) -> Void) {
        state.withLock { change(&$0.entries) }
    }

    /// A log with the same entries, as it is at this moment.
    package func copy() -> MemoryCommitLog {
        let copy = MemoryCommitLog()
        let now = state.withLock { $0 }
        copy.state.withLock { $0 = now }
        return copy
    }

    package func append(_ parts: [[UInt8]], after last: UInt64, id: AppendID) -> AppendAnswer {
        state.withLock { state in
            let fault = state.plan.isEmpty ? nil : state.plan.removeFirst()
            let append = Waiting(parts: parts, last: last, id: id)
            switch fault {
            case nil:
                let answer = state.take(append, atMost: parts.count)
                state.takeLate()
                return answer
            case .unanswered:
                _ = state.take(append, atMost: parts.count)
                return .unknown("the answer was lost")
            case .lost: return .unknown("no answer came")
            case .cut(let count):
                _ = state.take(append, atMost: count)
                return .unknown("the connection was lost")
            case .late:
                state.late.append(append)
                return .unknown("no answer came")
            case .noRoom: return .noRoom("the log is full")
            case .away: return .away("nobody is there")
            }
        }
    }

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        state.withLock { state in
            var found: [NumberedEntry] = []
            var size = 0
            for entry in state.entries.drop(while: { $0.number < number }) {
                guard found.isEmpty || size + entry.bytes.count <= bytes else { break }
                found.append(entry)
                size += entry.bytes.count
            }
            return found
        }
    }

    package func trim(before number: UInt64) throws(CommitLogError) {
        state.withLock { $0.entries.removeAll { $0.number < number } }
    }
}

extension MemoryCommitLog.State {
    mutating func take(
        _ append: MemoryCommitLog.Waiting,
        atMost count: Int
    ) -> AppendAnswer {
        var places = known[append.id] ?? []
        while places.count < append.parts.count {
            guard last == append.last + UInt64(places.count) else { return .fenced }
            guard places.count < count else { return .unknown("some parts did not come through") }
            last += 1
            entries.append(NumberedEntry(number: last, bytes: append.parts[places.count]))
            bytes += append.parts[places.count].count
            places.append(last)
            known[append.id] = places
        }
        appends += 1
        return .appended(places[places.count - 1])
    }

    mutating func takeLate() {
        for append in late { _ = take(append, atMost: append.parts.count) }
        late = []
    }
}
