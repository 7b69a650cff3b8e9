import Configuration
import Logs
import Queue

extension TakenLogs {
    /// Groups of logs that may belong to different places.
    init(_ groups: [(logs: TrackedLogs, target: RoutingTable.Target)], of request: LogRequest) {
        // Whatever the groups are, repeated tags cannot make more of them than of one.
        var room = request.repeatedBytesMax
        let limits = request.limits.json
        // Mostly there is one, and nothing to look for.
        guard groups.count > 1 else {
            self.init(groups.map { TakenPart($0, $1, limits, repeatedBytesMax: room) })
            return
        }
        var joined = JoinedParts()
        for (logs, target) in groups {
            var part = TakenPart(logs, target, limits, repeatedBytesMax: room)
            // No reason to refuse logs: what makes the streams so many becomes fields.
            if joined.parts.count >= limits.batches, !joined.has(part.stream) {
                part = TakenPart(logs, target, limits, repeatedBytesMax: room, foldsAll: true)
            }
            room -= part.logs.bytes
            joined.add(part)
        }
        self.init(joined.parts)
    }

    /// Groups of logs with a topic, a source and tags each, as SLS's SDKs send them. Pack ids among the tags tell a
    /// repeated request, and else the number that the client gave it.
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

/// Parts of a request, of each stream one.
private struct JoinedParts {
    private(set) var parts: [TakenPart] = []
    private var places: [StreamKey: Int] = [:]

    func has(_ stream: StreamKey) -> Bool { places[stream] != nil }

    mutating func add(_ part: TakenPart) {
        let stream = part.stream
        if let place = places[stream] {
            parts[place].logs.append(part.logs)
        } else {
            places[stream] = parts.count
            parts.append(part)
        }
    }
}
