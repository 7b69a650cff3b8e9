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
        var due: [Key: Int] = [:]
        for (key, sum) in sums where pauses.tryStart(for: key, now) { due[key] = sum }
        for key in due.keys { sums[key] = nil }
        return due
    }
}

/// Lets a journal line through once a minute, for each subject.
struct JournalPauses<Subject: Hashable> {
    private var next: [Subject: Moment] = [:]

    /// Starts the next pause, unless one lasts. True: the line may be written now.
    mutating func tryStart(for subject: Subject, _ now: Moment = .now) -> Bool {
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

    /// Starts the next pause, unless one lasts. True: the line may be written now.
    mutating func tryStart() -> Bool {
        guard next <= .now else { return false }
        next = .now + length
        return true
    }
}
