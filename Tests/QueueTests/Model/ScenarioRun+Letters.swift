import Logs
import Queue
import System
import TestSupport

@testable import SQLiteQueue

/// A dead letter as it is on the disk.
struct ModelLetter {
    let id: Int64
    let number: Int
    let died: WallTime
    let cost: Int
}

extension ScenarioRun {
    /// All of them, in the order in which they died.
    func letters() throws -> [ModelLetter] {
        try store.letters().map { letter in
            guard let log = letter.log else {
                throw ModelFailure("dead letter \(letter.id) cannot be read")
            }
            return ModelLetter(
                id: letter.id,
                number: try model.number(log.bytes),
                died: letter.died,
                cost: letter.cost
            )
        }
    }

    func replay(_ pick: Int, _ count: Int) throws {
        try change(pick, count, to: .queued) { store.change(.replay, $0, whenDone: $1) }
    }

    func purge(_ pick: Int, _ count: Int) throws {
        try change(pick, count, to: .discarded) { store.change(.purge, $0, whenDone: $1) }
    }

    /// So many letters, or all of them.
    private func change(
        _ pick: Int,
        _ count: Int,
        to place: ModelLog.Place,
        _ begin: (DeadLetterSelection, @escaping @Sendable (DeadLetterChange) -> Void) -> Void
    ) throws {
        let before = try letters()
        guard !before.isEmpty else { return }
        let chosen = before[(pick % before.count)...].prefix(count)
        let selection =
            count == .max
            ? DeadLetterSelection.matching(DeadLetterFilter()) : .ids(chosen.map(\.id))
        let answer = Locked<DeadLetterChange?>(nil)
        begin(selection) { change in answer.withLock { $0 = change } }
        try queue.run()
        guard let change = answer.withLock({ $0 }) else {
            throw ModelFailure("a change of dead letters has no answer")
        }
        let left = Set(try letters().map(\.id))
        let changed = chosen.filter { !left.contains($0.id) }
        try check(change.changed == changed.count, "\(change), and \(changed.count) changed")
        switch change.end {
        case .complete:
            try check(changed.count == chosen.count, "\(change), and not all changed")
        case .refused(let why):
            // What only leaves needs no room.
            let mayBe = place == .queued ? hasReason(why, for: settings.rules) : mayFail
            try check(mayBe, "\(change), without a reason")
        case .busy, .tooManyIDs: throw ModelFailure("\(change), without a reason")
        }
        for letter in changed { model.move(letter.number, to: place, now) }
        try conclude()
        try settle()
    }

    func edit(_ pick: Int, _ filling: Int) throws {
        let letters = try letters()
        guard !letters.isEmpty else { return }
        let letter = letters[pick % letters.count]
        let edit = DeadLetterEdit(fields: ModelLog.fields(letter.number, filling))
        let answer = Locked<DeadLetterEditOutcome?>(nil)
        store.replace(letter.id, with: edit) { outcome in answer.withLock { $0 = outcome } }
        try queue.run()
        switch answer.withLock({ $0 }) {
        case .replaced?: model.edit(letter.number, filling: filling)
        case .refused(let why)?:
            try check(
                hasReason(why, for: settings.rules),
                "an edit is refused as \(why), without a reason"
            )
        case let outcome: throw ModelFailure("an edit ended as \(String(describing: outcome))")
        }
        try conclude()
        try settle()
    }
}
