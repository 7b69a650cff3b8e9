import Queue
import SLS

extension Destination.Labels {
    /// SLS puts these into a log itself, or a packet's own id.
    private static let reserved: Set<String> = [
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

extension Destination.Transfer {
    static func read(_ section: inout Section) -> Destination.Transfer {
        var transfer = Destination.Transfer()
        let compressions: Kind<Compression> = .choice(
            ["lz4": .lz4, "zstd": .zstd, "deflate": .deflate, "none": .none]
        )
        if let choice = section.value("compress", compressions) { transfer.compression = choice }
        transfer.packet = readPacket(section.section("packet"))
        if let count = section.value("concurrency", .count(1...256)) {
            transfer.concurrency = count
        }
        let timeouts: Kind<Duration> = .duration(.seconds(1) ... .seconds(3600))
        if let time = section.value("connect_timeout", timeouts) { transfer.connectTimeout = time }
        if let time = section.value("send_timeout", timeouts) { transfer.sendTimeout = time }
        transfer.certificateFile = section.value("ca_file", .readableFile)
        return transfer
    }

    private static func readPacket(_ section: consuming Section) -> PacketLimits {
        var limits = PacketLimits()
        // SLS takes 10 MiB; a packet may pass its limit by the trailer and its last batch's rest.
        if let bytes = section.value("bytes", .size(1 << 10...10_000_000)) {
            limits.rawBytes = bytes
        }
        if let logs = section.value("logs", .count(1...40_960)) { limits.logs = logs }
        if let age = section.value("age", .duration(.milliseconds(10) ... .seconds(3600))) {
            limits.age = age
        }
        section.refuseOthers()
        return limits
    }
}
