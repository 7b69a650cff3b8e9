import System

/// Sums that the journal reports once a minute, each separately.
struct PendingSums<Key: Hashable> {
    private var sums: [Key: Int] = [:]
    private var pauses = JournalPauses<Key>()

    mutating func add(_ more: [Key: Int]) {
        sums.merge(more) { $0 + $1 }
    }

    /// Takes out the sums that may be reported now.
    mutating func takeDue(_ now: Moment) -> [Key: Int] {
        let due = sums.filter { pauses.areOver(for: $0.key, now) }
        for key in due.keys { sums[key] = nil }
        return due
    }
}

/// Lets a journal line through once a minute, for each subject.
struct JournalPauses<Subject: Hashable> {
    private var next: [Subject: Moment] = [:]

    /// Returns true if the line may be written now. Then the next one has to wait.
    mutating func areOver(for subject: Subject, _ now: Moment = .now) -> Bool {
        guard next[subject].map({ $0 <= now }) ?? true else { return false }
        next[subject] = now + .seconds(60)
        return true
    }
}

/// A pause for a line without subjects.
struct JournalPause {
    private let length: Duration
    private var next = Moment(nanoseconds: 0)

    init(_ length: Duration = .seconds(60)) {
        self.length = length
    }

    mutating func isOver() -> Bool {
        guard next <= .now else { return false }
        next = .now + length
        return true
    }
}
