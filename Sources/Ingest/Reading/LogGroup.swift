import Configuration
import Logs

/// Logs of a request that have the same address, topic, source and tags.
struct LogGroup {
    var tracked: TrackedLogs
    /// What the address of the logs means without routes.
    let target: RoutingTable.Target
    /// Filters and routes match it.
    let tag: String
    /// The topic where neither the device nor the destination sets one.
    let fallbackTopic: String
    /// True when a filter gave the logs another tag.
    var isRetagged = false
    /// True when filters gave some of the logs another time.
    var isRetimed = false

    init(
        _ tracked: TrackedLogs,
        _ target: RoutingTable.Target,
        tag: String,
        fallbackTopic: String = ""
    ) {
        self.tracked = tracked
        self.target = target
        self.tag = tag
        self.fallbackTopic = fallbackTopic
    }

    var logs: DecodedLogs { tracked.logs }
}

extension Destination.Labels {
    /// The trailer of logs: the device's values, completed by the operator's.
    func trailer(
        of group: LogGroup,
        _ tags: [(key: String, value: String)]
    ) -> GroupTrailer {
        let own = self.tags.map { (key: $0.key, value: $0.value) }
        return GroupTrailer(
            topic: topic(of: group),
            source: group.tracked.source.flatMap { $0.isEmpty ? nil : $0 } ?? source,
            tags: tags.isEmpty ? own : tags + own
        )
    }

    func topic(of group: LogGroup) -> String {
        if let own = group.tracked.topic, !own.isEmpty { return own }
        return topic.isEmpty ? group.fallbackTopic : topic
    }
}
