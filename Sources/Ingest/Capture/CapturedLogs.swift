import Logs
import Queue
import Routing

/// What a draft keeps of logs that a capture wants when they are accepted.
struct CapturedLogs: Sendable {
    static let logsMax = 100
    /// What is masked of logs, before and behind filters. No further log is kept beyond it: masking
    /// takes time, and a record is shown and exported in one piece.
    static let bytesMax = 512 << 10

    /// Copies of the logs after filters and routes, and what those took away.
    let copies: Int
    let counts: DispatchedLogs.Counts
    let logs: [CaptureRecord.Log]
    let groups: [CaptureRecord.Group?]
    let logCount: Int
    let droppedCount: Int
    let batches: [CaptureRecord.Batch]

    /// With `redacts` nothing is kept as it came.
    init(
        _ groups: [LogGroup],
        _ dispatched: DispatchedLogs,
        _ trace: FilterTrace,
        _ plans: TagPlans?,
        redacts: Bool
    ) {
        var logs: [CaptureRecord.Log] = []
        var (traced, room) = (0, Self.bytesMax)
        for (number, group) in groups.enumerated() where logs.count < Self.logsMax {
            let hasFilters = plans.map { !$0.plan(for: group.tag).filters.isEmpty } ?? false
            for (entry, isUnreadable) in group.logs.entries(atMost: Self.logsMax - logs.count) {
                let log =
                    hasFilters && trace.logs.indices.contains(traced) ? trace.logs[traced] : nil
                let bytes = CaptureRecord.Log.maskedBytes(of: entry, log)
                // The first is cut if it alone has no room.
                guard logs.isEmpty || bytes <= room else {
                    room = 0
                    break
                }
                defer {
                    if hasFilters { traced += 1 }
                    room -= bytes
                }
                let tag = log?.tag ?? group.tag
                let places = dispatched.places.filter { $0.group == number && $0.tag == tag }
                logs.append(
                    CaptureRecord.Log(
                        entry,
                        isUnreadable: isUnreadable,
                        trace: log,
                        tag: tag,
                        redacts: redacts,
                        group: number,
                        destinations: plans == nil
                            ? [group.target.destination] : places.map(\.destination),
                        atMost: room
                    )
                )
            }
        }
        self.logs = logs
        copies = dispatched.parts.reduce(0) { $0 + $1.logs.count }
        counts = dispatched.counts
        self.groups = groups.prefix(logs.last.map { $0.group + 1 } ?? 0).map { group in
            redacts ? nil : CaptureRecord.Group(group)
        }
        logCount = groups.reduce(0) { $0 + $1.logs.count }
        droppedCount = groups.reduce(0) { $0 + $1.logs.dropped }
        batches = dispatched.parts.map { part in
            CaptureRecord.Batch(
                destination: part.target.destination,
                logstore: Mask.hidingKnownSecrets(in: part.target.logstore),
                topic: Mask.hidingSecrets(in: part.trailer.topic),
                logs: part.logs.count,
                bytes: part.logs.bytes
            )
        }
    }

    /// About the memory that it takes, with tracks for all batches.
    var weight: Int {
        logs.reduce(0) { $0 + $1.weight } + groups.reduce(0) { $0 + ($1?.weight ?? 0) }
            + batches.reduce(0) { $0 + $1.weight + BatchTrack.weight }
    }
}

extension DecodedLogs {
    /// The first logs, sound ones before faulty ones, and whether they came as an unreadable text.
    fileprivate func entries(atMost count: Int) -> [(entry: LogEntry, isUnreadable: Bool)] {
        var entries = sound.entries(atMost: count).map { ($0, false) }
        for faulty in faulty where entries.count < count {
            entries += faulty.logs.entries(atMost: count - entries.count)
                .map { ($0, faulty.fault.isUnreadable) }
        }
        return entries
    }
}

extension LogFault {
    fileprivate var isUnreadable: Bool { if case .unreadable = self { true } else { false } }
}
