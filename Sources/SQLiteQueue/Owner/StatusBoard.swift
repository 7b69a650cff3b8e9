import Queue
import System

/// The counts since the start, and the state that was published last.
struct StatusBoard {
    private var commits = QueueStatus.Commits()
    /// Commits at the last housekeeping.
    private var commitsBefore = 0
    var checkpoints = 0
    /// Logs that changed on the disk, without those that salvages lost.
    var lostLogs = 0
    var ledgerImbalances = 0
    private var streamRefusals = StreamRefusals()
    private var repeats = QueueStatus.Repeats()
    /// By destination.
    private var destinations: [String: Counts] = [:]
    /// The result of the last walk over all streams.
    var survey: [String: Survey] = [:]
    private var admissions = QueueAdmissions(queue: .open, whereRoomIsMade: .open)

    private struct Counts {
        /// Logs that an overflow dropped.
        var dropped = 0
        var volumes = Volumes()
    }

    mutating func committed(
        in time: Duration,
        because reason: CommitReason,
        requests: Int,
        rows: Int
    ) {
        commits.count += 1
        commits.byReason[reason] += 1
        commits.requests += requests
        commits.rows += rows
        commits.time += time
        commits.timeMax = max(commits.timeMax, time)
    }

    /// Returns true if nothing was committed since the last call.
    mutating func takeIdle() -> Bool {
        defer { commitsBefore = commits.count }
        return commits.count == commitsBefore
    }

    /// Called after a commit. Counts repeated requests, and requests that the store forgot before
    /// their age.
    mutating func countRepeats(_ repeated: Int, in store: OpenStore) {
        repeats.repeated += repeated
        repeats.forgottenEarly += store.repeats.takeForgottenEarly()
    }

    mutating func count(dropped logs: [Overflowed: Int]) {
        for (overflowed, count) in logs {
            destinations[overflowed.destination, default: Counts()].dropped += count
        }
    }

    /// Returns false if the refusal had another reason than streams.
    mutating func count(streamRefusal refusal: QueueAdmission) -> Bool {
        switch refusal {
        case .tooManyStreams: streamRefusals.queue += 1
        case .tooManyStreamsOfDestination: streamRefusals.destination += 1
        case .tooManyStreamsOfSender: streamRefusals.sender += 1
        default: return false
        }
        return true
    }

    /// Returns true if the answer to all batches has changed.
    mutating func change(_ new: QueueAdmissions) -> Bool {
        defer { admissions = new }
        return new != admissions
    }

    func show(in status: inout QueueStatus) {
        status.commits = commits
        status.checkpoints = checkpoints
        status.streamRefusals = streamRefusals
        status.repeats.repeated = repeats.repeated
        status.repeats.forgottenEarly = repeats.forgottenEarly
        status.ledgerImbalances = ledgerImbalances
    }

    mutating func show(_ destination: QueuedDestination, in shown: inout QueueStatus.Destination) {
        let name = destination.name
        // The values are committed by now, so they are added to the counts that outlive the store.
        destinations[name, default: Counts()].volumes += destination.volumes
        destination.volumes = Volumes()
        shown.volumes = destinations[name]?.volumes ?? Volumes()
        shown.dropped = destinations[name]?.dropped ?? 0
        shown.oldest = destination.ledger.queued > 0 ? survey[name]?.oldest : nil
        shown.outlets = survey[name]?.outlets ?? [:]
    }
}
