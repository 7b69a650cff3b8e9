extension Destination.Labels {
    /// SLS puts these into a log itself, or a packet's own id.
    static let reserved: Set<String> = [
        "__time__", "__source__", "__topic__", "__pack_id__", "__partition_time__",
        "_extract_others_", "__extract_others__",
    ]

    static func read(_ section: inout Section) -> Destination.Labels {
        var labels = Destination.Labels()
        labels.topic = section.value("topic", .text(upTo: 128)) ?? ""
        labels.source = section.value("source", .text(upTo: 128)) ?? ""
        var tags = section.section("tags")
        for key in tags.names {
            let value = tags.value(key, .text(upTo: 1024)) ?? ""
            if reserved.contains(key) {
                tags.problem(key, "this name is reserved by SLS; choose another")
            } else if !(1...128).contains(key.utf8.count) {
                tags.problem(key, "a tag's name has 1 to 128 bytes")
            }
            labels.tags.append(.init(key: key, value: value))
        }
        tags.refuseOthers()
        return labels
    }
}
