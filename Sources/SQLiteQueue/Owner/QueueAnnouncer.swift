import Queue
import System

/// Reports refused batches, expired logs and wrong ledgers, most at most once a minute.
struct QueueAnnouncer {
    private let journal: Journal
    private var admission = QueueAdmission.open
    private var admissionPause = JournalPause()
    private var full: Set<String> = []
    private var fullPauses = JournalPauses<String>()
    private var crowdedPauses = JournalPauses<String>()
    private var shortagePauses = JournalPauses<String>()
    private var dropped = PendingSums<Overflowed>()
    private var skipped = PendingSums<Skipped>()
    private var expired = PendingSums<String>()
    private var expiredLetters = PendingSums<String>()
    /// The differences of the last check, so that each is reported once.
    private(set) var imbalances: [Imbalance] = []

    init(_ journal: Journal) {
        self.journal = journal
    }

    // MARK: - Admission

    /// Reports when the queue begins to refuse batches and takes them again. A queue at its bound
    /// changes with each packet, so the first line comes once a minute, the second only after it.
    mutating func announce(
        _ new: QueueAdmission,
        bytes: Int,
        freeBytes: Int,
        _ configuration: QueueConfiguration
    ) {
        guard new != admission else { return }
        switch new {
        case .open:
            admission = .open
            journal.info("queue takes batches again", ["bytes": bytes])
        case .full:
            guard admissionPause.tryStart() else { return }
            admission = .full
            journal.warning(
                "queue is full and refuses batches",
                [
                    "bytes": bytes, "limit": configuration.bytesMax,
                    "remedy": "see why logs do not leave, or raise queue.max_bytes",
                ]
            )
        case .diskFull:
            guard admissionPause.tryStart() else { return }
            admission = .diskFull
            journal.warning(
                "queue refuses batches: the disk is nearly full",
                [
                    "free_bytes": freeBytes, "limit": configuration.freeBytesMin,
                    "remedy": "free some space, or lower queue.min_free_bytes",
                ]
            )
        case .destinationFull, .tooManyLogstores, .failing, .stopping, .tooManyStreams,
            .tooManyStreamsOfDestination, .tooManyStreamsOfSender:
            break
        }
    }

    mutating func announce(_ new: QueueAdmission, of destination: QueuedDestination) {
        let name = destination.name
        if new == .open, full.remove(name) != nil {
            journal.info("destination takes batches again", ["destination": name])
        }
        guard new == .destinationFull, !full.contains(name), fullPauses.tryStart(for: name) else {
            return
        }
        full.insert(name)
        journal.warning(
            "destination is full and refuses batches",
            [
                "destination": name, "bytes": destination.bytes,
                "limit": destination.rules.bytesMax,
                "remedy": "see why logs do not leave, or raise the destination's max_bytes",
            ]
        )
    }

    mutating func announceCrowded(_ destination: QueuedDestination) {
        guard crowdedPauses.tryStart(for: destination.name) else { return }
        journal.warning(
            "batches are refused: too many logstores have logs in the queue",
            [
                "destination": destination.name, "limit": destination.rules.logstoresMax,
                "remedy": "see which take none, or raise the destination's max_logstores",
            ]
        )
    }

    /// Reports batches refused for their new streams, and the destination or key whose share is
    /// used up.
    mutating func announceShortage(_ refusal: QueueAdmission, _ append: Append, streamsMax: Int) {
        guard let stream = append.batches.first?.stream else { return }
        // The operator defines keys and destinations, so these are few.
        let subject = "\(refusal) \(append.request.sender ?? stream.destination)"
        guard shortagePauses.tryStart(for: subject) else { return }
        let holder =
            switch refusal {
            case .tooManyStreamsOfDestination: "destination"
            case .tooManyStreamsOfSender: "key"
            default: "queue"
            }
        journal.warning(
            "batches are refused: too many streams wait",
            [
                "share_of": holder, "destination": stream.destination,
                "key": append.request.sender ?? "none", "limit": streamsMax,
                "remedy": "fold tags that differ by device (fold_tags), or raise queue.max_streams",
            ]
        )
    }

    // MARK: - Logs that leave without being delivered

    mutating func note(dropped logs: [Overflowed: Int]) { dropped.add(logs) }

    mutating func note(skipped logs: [Skipped: Int]) { skipped.add(logs) }

    mutating func note(expired logs: [String: Int], letters: [String: Int]) {
        expired.add(logs)
        expiredLetters.add(letters)
    }

    mutating func announceSkipped() {
        for (skipped, logs) in skipped.takeDue(.now) {
            journal.warning(
                "logs were skipped: a destination that is not required has no room",
                [
                    "destination": skipped.destination, "logs": logs, "reason": "\(skipped.reason)",
                    "remedy": "see why logs do not leave, or raise the bound",
                ]
            )
        }
    }

    mutating func announceExpired() {
        for (overflowed, logs) in dropped.takeDue(.now) {
            let key = overflowed.isOwnBound ? "the destination's max_bytes" : "queue.max_bytes"
            journal.warning(
                "logs expired: the oldest made room for new ones",
                [
                    "destination": overflowed.destination, "logs": logs,
                    "remedy": "see why logs do not leave, or raise \(key)",
                ]
            )
        }
        for (destination, logs) in expired.takeDue(.now) {
            journal.warning(
                "logs expired: they waited longer than max_age",
                ["destination": destination, "logs": logs]
            )
        }
        for (destination, letters) in expiredLetters.takeDue(.now) {
            journal.warning(
                "dead letters expired: they are older than their max_age",
                ["destination": destination, "letters": letters]
            )
        }
    }

    // MARK: - Ledgers

    /// Reports ledgers that disagree with the content, and returns the number of new ones: a bug of
    /// ours. Only a start corrects it, by counting everything again.
    mutating func announce(_ found: [Imbalance]) -> Int {
        let new = found.filter { !imbalances.contains($0) }
        for imbalance in new {
            let ledger = imbalance.ledger
            journal.error(
                "ledger does not agree with the queue",
                [
                    "destination": imbalance.destination,
                    "accepted": ledger.accepted, "delivered": ledger.delivered,
                    "queued": ledger.queued, "dead": ledger.dead,
                    "expired": ledger.expired, "discarded": ledger.discarded,
                    "found_queued": imbalance.queued, "found_dead": imbalance.dead,
                    "remedy": "report it, and restart: a start counts what is here",
                ]
            )
        }
        imbalances = found
        return new.count
    }
}

/// Sums that the journal reports once a minute, each separately.
struct PendingSums<Key: Hashable> {
    private var sums: [Key: Int] = [:]
    private var pauses = JournalPauses<Key>()

    mutating func add(_ more: [Key: Int]) {
        sums.merge(more) { $0 + $1 }
    }

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

    mutating func tryStart() -> Bool {
        guard next <= .now else { return false }
        next = .now + length
        return true
    }
}
