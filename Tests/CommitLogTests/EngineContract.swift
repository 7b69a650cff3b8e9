import CommitLog
import System
import Testing

// What the tests of all engines use.

func id(_ commit: UInt64, writer: UInt64 = 1) -> AppendID {
    AppendID(writer: writer, epoch: 1, commit: commit)
}

extension CommitLog {
    /// As long as an attempt of the writer may take.
    func append(_ parts: [[UInt8]], after last: UInt64, id: AppendID) -> AppendAnswer {
        append(parts, after: last, id: id, until: .now + .seconds(2))
    }
}

/// Lets all logs append so many parts at the same moment, again and again, to an empty log. One
/// must be taken each time.
func raceRivals(_ logs: [any CommitLog], parts: Int, rounds: UInt64 = 30) throws {
    var last: UInt64 = 0
    for round in 1...rounds {
        let outcomes = Locked<[AppendAnswer]>([])
        let workers = try logs.enumerated().map { index, log in
            try Worker("rival") { [last] in
                let body = Array(repeating: [UInt8(index)], count: parts)
                let name = id(round, writer: UInt64(index + 1))
                let answer = log.append(body, after: last, id: name)
                outcomes.withLock { $0.append(answer) }
            }
        }
        for worker in workers { worker.join() }
        let answers = outcomes.withLock { $0 }
        last += UInt64(parts)
        #expect(answers.count { $0 == .appended(last) } == 1, "\(answers)")
        #expect(answers.count { $0 == .fenced } == logs.count - 1, "\(answers)")
    }
}
