import Logs

extension TakenLogs {
    /// Logs of one topic, source and list of tags, as SLS's SDKs send them. A pack id among the tags tells a
    /// repeated request.
    init(_ tracked: TrackedLogs, of request: LogRequest) {
        let target = request.target
        self.init([
            TakenPart(tracked, target, foldedBytesMax: request.limits.inflatedBytes * 2)
        ])
        guard request.recognizesContent,
            let packID = tracked.tags.last(where: { $0.key == DeviceTags.packIDName })?.value
        else { return }
        identity = RequestIdentity.packet(
            packID,
            topic: target.labels.topic(of: tracked),
            content: request.content,
            target
        )
    }
}
