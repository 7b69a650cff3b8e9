extension Destination {
    /// The keys of what differs, in the order of the document. All of it changes while the gateway runs.
    func keysChanged(to new: Destination) -> [String] {
        var keys: [String] = []
        func compare<Value: Equatable>(_ key: String, _ path: KeyPath<Destination, Value>) {
            if self[keyPath: path] != new[keyPath: path] { keys.append(key) }
        }
        compare("endpoint", \.endpoints)
        compare("project", \.project)
        compare("logstore", \.logstore)
        compare("logstores_max", \.backlog.logstoresMax)
        compare("region", \.region)
        compare("credential", \.credential)
        compare("signature", \.signature)
        compare("proxy", \.transfer.proxy)
        compare("ca_file", \.transfer.certificateFile)
        compare("compress", \.transfer.compression)
        compare("packet", \.transfer.packet)
        compare("concurrency", \.transfer.concurrency)
        compare("connect_timeout", \.transfer.connectTimeout)
        compare("send_timeout", \.transfer.sendTimeout)
        compare("stall_timeout", \.transfer.stallTimeout)
        compare(
            (transfer.lanes == 0) == (new.transfer.lanes == 0) ? "lanes" : "exactly_once",
            \.transfer.lanes
        )
        compare("drop_unauthorized", \.transfer.dropsUnauthorized)
        compare("clock_offset", \.transfer.clockOffset)
        compare("topic", \.labels.topic)
        compare("source", \.labels.source)
        compare("tags", \.labels.tags)
        compare("late_logs", \.intake.lateLogs)
        compare("max_log_delay", \.intake.logDelayMax)
        compare("oversize", \.intake.oversize)
        compare("fold_tags", \.intake.foldTags)
        compare("keep_pack_id", \.intake.keepsPackID)
        compare("stamp", \.intake.stamps)
        compare("max_bytes", \.backlog.bytesMax)
        compare("max_age", \.backlog.ageMax)
        compare("overflow", \.backlog.overflow)
        compare("fresh_first", \.backlog.freshPercent)
        return keys
    }
}
