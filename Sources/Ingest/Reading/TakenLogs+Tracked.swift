import Configuration
import Logs
import Queue

extension TakenLogs {
    /// Groups of logs with targets of their own.
    init(_ groups: [(logs: TrackedLogs, target: RoutingTable.Target)], of request: LogRequest) {
        // Repeated tags get the same room, whether the request has one group or many.
        var room = request.repeatedBytesMax
        let limits = request.limits.json
        // The usual case: one group, nothing to join.
        guard groups.count > 1 else {
            self.init(groups.map { TakenPart($0, $1, limits, repeatedBytesMax: room) })
            return
        }
        var joined = JoinedParts()
        for (logs, target) in groups {
            var part = TakenPart(logs, target, limits, repeatedBytesMax: room)
            // Too many streams are no reason to refuse logs: the tags that cause them become fields.
            if joined.parts.count >= limits.batches, !joined.has(part.stream) {
                part = TakenPart(logs, target, limits, repeatedBytesMax: room, foldsAll: true)
            }
            room -= part.logs.bytes
            joined.add(part)
        }
        self.init(joined.parts)
    }

    /// Groups of logs with a topic, a source and tags each, as SLS's SDKs send them. A repetition is recognised by
    /// pack ids among the tags, or by the client's number of the request.
    init(_ groups: [TrackedLogs], of request: LogRequest, _ sequence: String? = nil) {
        let target = request.target
        self.init(groups.map { ($0, target) }, of: request)
        guard request.recognizesContent else { return }
        let packIDs = groups.compactMap { group in
            group.tags.last { $0.key.hasSameBytes(as: DeviceTags.packIDName) }?.value
        }
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
private struct JoinedParts {
    private(set) var parts: [TakenPart] = []
    private var indices: [StreamKey: Int] = [:]

    func has(_ stream: StreamKey) -> Bool { indices[stream] != nil }

    mutating func add(_ part: TakenPart) {
        let stream = part.stream
        if let index = indices[stream] {
            parts[index].logs.append(part.logs)
        } else {
            indices[stream] = parts.count
            parts.append(part)
        }
    }
}
