package import CommitLog
package import System
import TestSupport

/// A commit log in memory, which several writers may share. What goes wrong is planned.
package final class MemoryCommitLog: CommitLog {
    /// What happens to an append.
    package enum Fault: Equatable, Sendable {
        /// It arrives, and its answer is lost.
        case unanswered
        /// It is lost on its way.
        case lost
        /// Only so many parts arrive.
        case cut(Int)
        /// So many parts arrive, and the engine forgets that it has seen them.
        case forgotten(Int)
        /// It arrives after the next append that does, or with `deliverLate`, unless the fence
        /// refuses it by then.
        case late
        /// It is refused, although nothing newer is there.
        case refused
        case noRoom
        case unreachable
    }

    fileprivate struct Append {
        let parts: [[UInt8]]
        let last: UInt64
        let id: AppendID
    }

    fileprivate struct State {
        var entries: [NumberedEntry] = []
        var last: UInt64 = 0
        /// The numbers of the parts of appends.
        var known: [AppendID: [UInt64]] = [:]
        var plan: [Fault?] = []
        var late: [Append] = []
        var failingReads = 0
        var failingTrims = 0
        var failsAtEnd = false
        var keepsAll = false
        var bytesMax = Int.max
        var offered: Int?
        var readBytes = 0
        var isWedged = false
    }

    private let state: Locked<State>
    private let readsWait = SharedValue(false)

    package init(_ entries: [NumberedEntry] = []) {
        var state = State()
        state.entries = entries
        state.last = entries.last?.number ?? 0
        self.state = Locked(state)
    }

    package var entries: [NumberedEntry] { state.withLock(\.entries) }
    /// The epochs of the entries that are not trimmed.
    package var epochs: [UInt64] {
        entries.compactMap { try? CommitEntry($0.bytes) }.filter { $0.kind == .epoch }
            .map(\.id.epoch)
    }
    /// The number of the last entry, also if that was trimmed.
    package var last: UInt64 { state.withLock(\.last) }
    /// Bytes of all that was ever read.
    package var readBytes: Int { state.withLock(\.readBytes) }

    /// What happens to the next appends, one after the other; nil: nothing.
    package func plan(_ faults: [Fault?]) { state.withLock { $0.plan = faults } }

    package func failReads(_ count: Int) { state.withLock { $0.failingReads = count } }
    /// Reads that would tell that there is nothing more fail.
    package func failReadsAtEnd(_ fail: Bool) { state.withLock { $0.failsAtEnd = fail } }
    package func failTrims(_ count: Int) { state.withLock { $0.failingTrims = count } }

    /// True: it can be read, and does not answer appends.
    package func wedge(_ isWedged: Bool) { state.withLock { $0.isWedged = isWedged } }

    /// True: reads wait until it is false.
    package func holdReads(_ hold: Bool) { readsWait.change { $0 = hold } }

    /// The engine has room for so many bytes.
    package func limit(to bytes: Int) { state.withLock { $0.bytesMax = bytes } }

    /// The engine reserves so many bytes if it is asked to, and no more.
    package func offerRoom(upTo bytes: Int) { state.withLock { $0.offered = bytes } }

    package func makeRoom(for bytes: Int) throws(CommitLogError) -> Int? {
        try state.withLock { state throws(CommitLogError) in
            guard let offered = state.offered else { return nil }
            let wanted = state.entries.reduce(bytes) { $0 + $1.bytes.count }
            guard wanted > state.bytesMax else { return state.bytesMax }
            guard wanted <= offered else { throw .noRoom("a test offers no more") }
            state.bytesMax = wanted
            return wanted
        }
    }

    /// The engine trims later than this test lasts.
    package func keepAll() { state.withLock { $0.keepsAll = true } }

    package func deliverLate() { state.withLock { $0.deliverLate() } }

    /// Changes what lies in the log.
    package func damage(_ change: (inout [NumberedEntry]) -> Void) {
        state.withLock { change(&$0.entries) }
    }

    /// Forgets its last entries, as an engine with a damaged disk may.
    package func loseEnd(_ count: Int) {
        state.withLock { state in
            state.entries.removeLast(count)
            state.last = state.entries.last?.number ?? 0
        }
    }

    /// A log with the same entries, as it is at this moment.
    package func copy() -> MemoryCommitLog { MemoryCommitLog(entries) }

    package func append(
        _ parts: [[UInt8]],
        after last: UInt64,
        id: AppendID,
        until deadline: Moment = .now + .seconds(1)
    ) -> AppendAnswer {
        state.withLock { state in
            guard !state.isWedged else { return .unknown("no answer came") }
            let fault = state.plan.isEmpty ? nil : state.plan.removeFirst()
            let append = Append(parts: parts, last: last, id: id)
            switch fault {
            case nil:
                let answer = state.store(append, atMost: parts.count)
                state.deliverLate()
                return answer
            case .unanswered:
                _ = state.store(append, atMost: parts.count)
                return .unknown("the answer was lost")
            case .lost: return .unknown("no answer came")
            case .cut(let count):
                _ = state.store(append, atMost: count)
                return .unknown("the connection was lost")
            case .forgotten(let count):
                _ = state.store(append, atMost: count)
                state.known[id] = nil
                return .unknown("the connection was lost")
            case .late:
                state.late.append(append)
                return .unknown("no answer came")
            case .refused: return .fenced
            case .noRoom: return .noRoom("the log is full")
            case .unreachable: return .unreachable("the engine cannot be reached")
            }
        }
    }

    package func read(
        from number: UInt64,
        atMost bytes: Int
    ) throws(CommitLogError) -> [NumberedEntry] {
        _ = readsWait.wait { !$0 }
        let last = state.withLock(\.last)
        guard number <= last + 1 else {
            throw CommitLogError(.damaged, "the log ends with entry \(last)")
        }
        let found: [NumberedEntry]? = state.withLock { state in
            guard state.failingReads == 0 else {
                state.failingReads -= 1
                return nil
            }
            guard !state.failsAtEnd || number <= last else { return nil }
            var found: [NumberedEntry] = []
            var size = 0
            for entry in state.entries.drop(while: { $0.number < number }) {
                guard found.isEmpty || size + entry.bytes.count <= bytes else { break }
                found.append(entry)
                size += entry.bytes.count
            }
            state.readBytes += size
            return found
        }
        guard let found else { throw CommitLogError(.unreachable, "the engine cannot be reached") }
        return found
    }

    package var name: String { "memory" }

    package func trim(before number: UInt64) throws(CommitLogError) -> Bool {
        let isDone = state.withLock { state in
            guard state.failingTrims == 0 else {
                state.failingTrims -= 1
                return false
            }
            if !state.keepsAll { state.entries.removeAll { $0.number < number } }
            return true
        }
        guard isDone else { throw CommitLogError(.unreachable, "the engine cannot be reached") }
        return true
    }
}

extension MemoryCommitLog.State {
    mutating func store(_ append: MemoryCommitLog.Append, atMost count: Int) -> AppendAnswer {
        var places = known[append.id] ?? []
        while places.count < append.parts.count {
            guard last == append.last + UInt64(places.count) else { return .fenced }
            guard places.count < count else { return .unknown("some parts did not arrive") }
            let held = entries.reduce(0) { $0 + $1.bytes.count }
            guard held + append.parts[places.count].count <= bytesMax else {
                return .noRoom("the log is full")
            }
            last += 1
            entries.append(NumberedEntry(number: last, bytes: append.parts[places.count]))
            places.append(last)
            known[append.id] = places
        }
        return .appended(places[places.count - 1])
    }

    mutating func deliverLate() {
        let appends = late
        late = []
        for append in appends { _ = store(append, atMost: append.parts.count) }
    }
}
