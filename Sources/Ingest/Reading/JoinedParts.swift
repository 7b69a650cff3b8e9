import Configuration
import Logs
import Queue

extension TakenLogs {
    /// Groups of a protocol whose logs repeat their SDK's marks. A repetition is recognised by pack
    /// ids among the tags, or by the client's number of the request.
    init(_ groups: [LogGroup], of request: LogRequest, _ sequence: String? = nil) {
        self.init(groups)
        guard request.recognizesContent else { return }
        let packIDs = groups.compactMap { group in
            group.tracked.tags.last { $0.key.hasSameBytes(as: DeviceTags.packIDName) }?.value
        }
        let target = request.target
        if let first = groups.first, !packIDs.isEmpty {
            identity = RequestIdentity.packet(
                packIDs.joined(separator: "\n"),
                topic: target.labels.topic(of: first),
                content: request.content,
                target
            )
        } else if let sequence {
            identity = RequestIdentity.numbered(sequence, content: request.content, target)
        }
    }
}

/// The parts of a request, one for each stream.
struct JoinedParts {
    private(set) var parts: [TakenPart] = []
    private var indices: [StreamKey: Int] = [:]
    private let limits: LogLimits
    /// The bytes that tags may still take which each log repeats: the same, whether a request has
    /// one group or many.
    private var room: Int

    init(_ limits: LogLimits, repeatedBytesMax: Int) {
        self.limits = limits
        room = repeatedBytesMax
    }

    /// All of a request that nothing filters or routes.
    init(_ groups: [LogGroup], _ limits: LogLimits, repeatedBytesMax: Int) {
        self.init(limits, repeatedBytesMax: repeatedBytesMax)
        // The usual case: one group, nothing to join.
        guard groups.count > 1 else {
            for group in groups {
                parts.append(TakenPart(group, group.target, limits, repeatedBytesMax: room))
            }
            return
        }
        for group in groups { add(group, to: group.target) }
    }

    mutating func add(_ group: LogGroup, to target: RoutingTable.Target) {
        var part = TakenPart(group, target, limits, repeatedBytesMax: room)
        // Too many streams are no reason to refuse logs: the tags that cause them become fields.
        if parts.count >= limits.batches, indices[part.stream] == nil {
            part = TakenPart(group, target, limits, repeatedBytesMax: room, foldsAll: true)
        }
        room -= part.logs.bytes
        let stream = part.stream
        if let index = indices[stream] {
            parts[index].logs.append(part.logs)
        } else {
            indices[stream] = parts.count
            parts.append(part)
        }
    }
}
