import Crypto
import Glibc
import Logs
import Queue
import Routing
import System

// Content becomes part of a record only here, where it is masked.
extension CaptureRecord.Body {
    /// What is kept of a body.
    fileprivate static let bytesMax = 64 << 10

    /// Text, masked. The beginning alone where it is long, which is cut before it is masked: a
    /// secret's beginning is masked too. With a reason nothing is kept but the size.
    /// `logsHaveSecrets` tells it of the logs that were read from the body. Names in them are known
    /// for certain, so they alone show what has secrets; nil: they could not be read.
    init(_ bytes: UnsafeRawBufferPointer, hides reason: String?, logsHaveSecrets: Bool?) {
        var beginning = Array(bytes.prefix(Self.bytesMax))
        let isCut = beginning.count < bytes.count
        // A character may be cut in two.
        while isCut, let last = beginning.last, last & 0xc0 == 0x80 || last >= 0xc0 {
            beginning.removeLast()
        }
        let isText = String(validating: beginning, as: UTF8.self) != nil
        var hidden = reason
        if !isText { hidden = hidden ?? "not text, so secrets in it cannot be found; see the logs" }
        let masked = hidden == nil ? Mask.hidingSecrets(in: beginning, isCut: isCut) : []
        let isMasked = masked != beginning
        if hidden == nil, let logsHaveSecrets, logsHaveSecrets || isMasked {
            hidden = "it has secrets; its logs show the rest"
        }
        self.init(
            bytes: bytes.count,
            sha256: isMasked || isCut || hidden != nil ? nil : hex(Digest.sha256(bytes)),
            text: hidden == nil ? String(decoding: masked, as: UTF8.self) : nil,
            isCut: isCut && hidden == nil,
            reason: hidden ?? (isMasked ? "secrets are masked" : nil)
        )
    }
}

extension TakenLogs {
    /// How much of the logs is searched. It must exceed the kept part of a body.
    private static let namesBytesMax = 4 * CaptureRecord.Body.bytesMax

    /// True if one of the logs, or their tags, have a secret.
    var haveSecrets: Bool {
        var names: [String: Bool] = [:]
        var left = Self.namesBytesMax
        for group in groups {
            if CaptureRecord.Group(group) == nil { return true }
            for logs in [group.logs.sound] + group.logs.faulty.map(\.logs) where left > 0 {
                for entry in logs.entries(atMost: left / 16) {
                    for (name, value) in entry.fields {
                        let isName = names[name] ?? SecretNames.contains(name)
                        if isName, SecretNames.contains(name, value: value.utf8) { return true }
                        names[name] = isName
                        left -= name.utf8.count + value.utf8.count + 16
                    }
                    if left <= 0 { break }
                }
            }
        }
        return false
    }
}

extension CaptureRecord.Log {
    /// What a field of a log may have.
    private static let valueBytesMax = 8 << 10

    /// `trace` is the log's way through the filters, if there are any. With `redacts` nothing is
    /// kept as it came.
    init(
        _ entry: LogEntry,
        isUnreadable: Bool,
        trace: FilterTrace.Log?,
        tag: String,
        redacts: Bool,
        group: Int,
        destinations: [String],
        atMost bytesMax: Int
    ) {
        let fields =
            [(name: "__time__", value: "\(entry.time.seconds)")]
            + entry.fields.map { (name: $0.key, value: $0.value) }
        var reason: String?
        var after: CaptureRecord.Fields? = fields
        var (isDropped, wasTooLong) = (false, false)
        if let trace {
            after = trace.fields.map { [fields[0]] + $0 }
            wasTooLong = after == nil
            switch trace.end {
            case .kept:
                if wasTooLong { reason = "no room for its fields behind the filters" }
            case .droppedBy(let filter):
                (after, isDropped, wasTooLong) = (nil, true, false)
                reason = "dropped by filters[\(filter)]"
            case .deadLetter(let fault):
                let message = Mask.hidingSecrets(in: fault.message, isCut: true)
                reason = "dead letter: \(fault.code): \(message)"
            }
        }
        // Filters may have given a secret a harmless name.
        let secrets = Set(
            fields.filter { $0.value.utf8.count >= Self.secretBytesMin }.filter {
                SecretNames.contains($0.name, value: $0.value.utf8)
            }.map(\.value)
        )
        let (before, extent) = Self.masked(fields, hiding: [], atMost: bytesMax)
        // Without filters both are the same, and masking is dear.
        let shownAfter =
            trace == nil
            ? before : after.map { Self.masked($0, hiding: secrets, atMost: bytesMax).fields }
        self.init(
            group: group,
            time: entry.time,
            extent: isUnreadable ? .unreadable : extent,
            before: redacts ? nil : before,
            after: shownAfter,
            wasTooLong: wasTooLong,
            tag: Mask.hidingKnownSecrets(in: tag),
            destinations: isDropped ? [] : destinations,
            reason: reason
        )
    }

    /// The bytes that are masked of a log, before and behind filters.
    static func maskedBytes(of entry: LogEntry, _ trace: FilterTrace.Log?) -> Int {
        let bytes = { (name: String, value: String) in
            name.utf8.count + min(value.utf8.count, valueBytesMax)
        }
        return entry.fields.reduce(0) { $0 + bytes($1.key, $1.value) }
            + (trace?.fields ?? []).reduce(0) { $0 + bytes($1.name, $1.value) }
    }

    /// A shorter value of a secret may be that of other fields, too.
    private static let secretBytesMin = 4

    /// The fields without secrets and without the ends of long values, and how much of them that
    /// is.
    private static func masked(
        _ fields: CaptureRecord.Fields,
        hiding secrets: Set<String>,
        atMost bytesMax: Int
    ) -> (fields: CaptureRecord.Fields, extent: Fidelity) {
        var (extent, room) = (Fidelity.whole, bytesMax)
        let masked = fields.map { name, value in
            defer { room -= name.utf8.count + min(value.utf8.count, valueBytesMax) }
            if secrets.contains(value) || SecretNames.contains(name, value: value.utf8) {
                extent = .masked
                return (
                    name: Mask.hidingKnownSecrets(in: name), value: Mask.redacted(Array(value.utf8))
                )
            }
            let bytes = Array(value.utf8.prefix(max(0, min(valueBytesMax, room))))
            let cut = value.utf8.count - bytes.count
            let text = Mask.hidingSecrets(in: bytes, isCut: cut > 0)
            let shownName = Mask.hidingKnownSecrets(in: name)
            if text != bytes || shownName != name { extent = .masked }
            if cut > 0, extent == .whole { extent = .cut }
            let end = cut > 0 ? "… (\(cut) more bytes)" : ""
            let shown = String(decoding: text, as: UTF8.self) + end
            return (name: shownName, value: shown)
        }
        return (masked, extent)
    }
}

extension CaptureRecord.Group {
    /// nil: one of the labels has a secret.
    init?(_ group: LogGroup) {
        let tracked = group.tracked
        let labels = [group.tag, group.fallbackTopic, tracked.topic ?? "", tracked.source ?? ""]
        let isSecret = { (text: String) in
            let bytes = Array(text.utf8)
            return Mask.hidingSecrets(in: bytes) != bytes
        }
        guard !labels.contains(where: isSecret),
            !tracked.tags.contains(where: {
                SecretNames.contains($0.key, value: $0.value.utf8) || isSecret($0.value)
            })
        else { return nil }
        self.init(
            address: group.target.tag.map(LogAddress.tag) ?? .logstore(group.target.logstore),
            tag: group.tag,
            topic: tracked.topic,
            fallbackTopic: group.fallbackTopic,
            source: tracked.source,
            tags: tracked.tags
        )
    }

    /// These logs, labelled as the request labelled its own.
    func group(_ logs: DecodedLogs, _ target: RoutingTable.Target) -> LogGroup {
        let tracked = TrackedLogs(logs: logs, topic: topic, source: source, tags: tags)
        return LogGroup(tracked, target, tag: tag, fallbackTopic: fallbackTopic)
    }
}

extension EncodedLogs {
    /// The first logs, read back; one whose encoding is wrong is left out.
    func entries(atMost count: Int) -> [LogEntry] {
        bytes.withUnsafeBytes { bytes in
            var entries = LogEntries(bytes)
            var all: [LogEntry] = []
            while all.count < count, let range = try? entries.next() {
                let log = UnsafeRawBufferPointer(rebasing: bytes[range])
                if let entry = try? LogEntry(log) { all.append(entry) }
            }
            return all
        }
    }
}

/// What a record keeps of logs that a capture wants when they are accepted.
struct CapturedLogs: Sendable {
    static let logsMax = 100
    /// What is masked of logs, before and behind filters. No further log is kept beyond it: masking
    /// takes time, and a record is shown and exported in one piece.
    static let bytesMax = 512 << 10

    /// Copies of the logs after filters and routes, and what those took away.
    let copies: Int
    let counts: DispatchedLogs.Counts
    /// The first logs of the request; `logCount` is the number of all.
    let logs: [CaptureRecord.Log]
    /// The groups of the logs; nil: not kept, because a label has a secret or a filter redacts this
    /// tag.
    let groups: [CaptureRecord.Group?]
    let logCount: Int
    /// Logs that the destination's rules dropped as they came. They are not among `logs`.
    let droppedCount: Int
    let batches: [CaptureRecord.Batch]

    /// With `redacts` nothing is kept as it came.
    init(
        _ groups: [LogGroup],
        _ dispatched: DispatchedLogs,
        _ trace: FilterTrace,
        plans: TagPlans?,
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

    /// About the memory that it takes.
    var weight: Int {
        logs.reduce(0) { $0 + $1.weight } + groups.reduce(0) { $0 + ($1?.weight ?? 0) }
            + batches.reduce(0) { $0 + $1.weight }
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
