import Configuration
import Logs

extension Destination.Labels {
    /// The trailer of plain logs, which have only a tag and perhaps a topic and a source.
    func trailer(tag: String, topic own: String? = nil, source ownSource: String? = nil)
        -> GroupTrailer
    {
        GroupTrailer(
            topic: own ?? (topic.isEmpty ? tag : topic),
            source: ownSource ?? source,
            tags: pairs
        )
    }

    /// The trailer of tracked logs: the device's values, completed by the operator's.
    func trailer(
        of tracked: TrackedLogs,
        _ tags: [(key: String, value: String)]
    ) -> GroupTrailer {
        GroupTrailer(
            topic: topic(of: tracked),
            source: tracked.source.flatMap { $0.isEmpty ? nil : $0 } ?? source,
            tags: tags + pairs
        )
    }

    func topic(of tracked: TrackedLogs) -> String {
        tracked.topic.flatMap { $0.isEmpty ? nil : $0 } ?? topic
    }

    private var pairs: [(key: String, value: String)] {
        tags.map { ($0.key, $0.value) }
    }
}
