import Logs
import Queue
import SQLite

/// What one step of a replay or a purge did.
struct LetterStep {
    var changed = 0
    var unreadable = 0
    var effects: [String: Ledger] = [:]
    /// There was no room for the letters of this step.
    var refusal: QueueAdmission?

    mutating func moved(_ destination: String, to account: WritableKeyPath<Ledger, Int64>) {
        changed += 1
        effects[destination, default: Ledger()].dead -= 1
        effects[destination, default: Ledger()][keyPath: account] += 1
    }
}

extension OpenStore {
    func purge(_ letters: [StoredLetter]) throws(SQLiteError) -> LetterStep {
        var step = LetterStep()
        for letter in letters {
            guard try exhume(letter) else { continue }
            let name = letter.record.stream.destination
            destination(name).change { $0.discarded += 1 }
            destination(name).volumes.discarded += letter.raw
            step.moved(name, to: \.discarded)
        }
        return step
    }

    /// Stages the letters as batches of their streams, all or none of them.
    func replay(_ letters: [StoredLetter]) throws(SQLiteError) -> LetterStep {
        var step = LetterStep()
        var logs: [StreamKey: EncodedLogs] = [:]
        var readable: [StoredLetter] = []
        for letter in letters {
            guard let log = letter.log else {
                step.unreadable += 1
                continue
            }
            logs[letter.record.stream, default: EncodedLogs()].bytes += log.bytes
            logs[letter.record.stream, default: EncodedLogs()].count += 1
            readable.append(letter)
        }
        // They need no room besides that which they have.
        lift(readable, -1)
        step.refusal = try stage(
            logs.map { Batch(stream: $0.key, logs: $0.value) },
            by: .unknown,
            areReplayed: true
        )
        lift(readable, 1)
        guard step.refusal == nil else { return step }
        for letter in readable {
            guard try exhume(letter) else { throw .damage("a dead letter cannot be removed") }
            let name = letter.record.stream.destination
            // It is accepted once: its row will be counted as accepted and as queued.
            destination(name).change { $0.accepted -= 1 }
            destination(name).volumes.accepted -= letter.raw
            step.moved(name, to: \.queued)
        }
        return step
    }

    private func lift(_ letters: [StoredLetter], _ sign: Int) {
        for letter in letters {
            weigh(destination(letter.record.stream.destination), bytes: sign * letter.cost)
        }
    }
}
