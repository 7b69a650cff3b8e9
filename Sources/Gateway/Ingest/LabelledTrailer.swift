import Logs

extension Destination.Labels {
    /// The trailer of plain logs, which bring nothing but their tag.
    func trailer(tag: String) -> GroupTrailer {
        GroupTrailer(topic: topic.isEmpty ? tag : topic, source: source, tags: pairs)
    }

    /// The trailer of tracked logs: what the device says, completed by what the operator says. The
    /// operator's tags win, so that a device cannot claim to be another environment.
    ///
    /// A device's `__pack_id__` would make each of its requests a stream of its own; the packet that
    /// the logs end in has an id anyway.
    func trailer(of tracked: TrackedLogs) -> GroupTrailer {
        let own = Set(tags.map(\.key))
        let devices = tracked.tags.filter { $0.key != "__pack_id__" && !own.contains($0.key) }
        return GroupTrailer(
            topic: tracked.topic.flatMap { $0.isEmpty ? nil : $0 } ?? topic,
            source: tracked.source.flatMap { $0.isEmpty ? nil : $0 } ?? source,
            tags: devices + pairs
        )
    }

    private var pairs: [(key: String, value: String)] {
        tags.map { ($0.key, $0.value) }
    }
}
