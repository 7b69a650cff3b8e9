import Logs

extension TakenLogs {
    /// Groups of logs that may belong to different places.
    init(_ groups: [(logs: TrackedLogs, target: RoutingTable.Target)], of request: LogRequest) {
        // Whatever the groups are, repeated tags cannot make more of them than of one.
        var room = request.repeatedBytesMax
        self.init(
            groups.map { group in
                let part = TakenPart(
                    group.logs,
                    group.target,
                    request.limits.json,
                    repeatedBytesMax: room
                )
                room -= part.logs.bytes
                return part
            }
        )
    }

    /// Groups of logs with a topic, a source and tags each, as SLS's SDKs send them. Pack ids among the tags tell a
    /// repeated request, and else the number that the client gave it.
    init(_ groups: [TrackedLogs], of request: LogRequest, _ sequence: String? = nil) {
        let target = request.target
        self.init(groups.map { ($0, target) }, of: request)
        guard request.recognizesContent else { return }
        let packIDs = groups.compactMap { group in
            group.tags.last { $0.key == DeviceTags.packIDName }?.value
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
