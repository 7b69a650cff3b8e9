import Delivery
import Queue
import SLS

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
        transfer.lanes = readLanes(&section, concurrency: transfer.concurrency)
        if let drops = section.value("drop_unauthorized", .boolean) {
            transfer.dropsUnauthorized = drops
        }
        let timeouts: Kind<Duration> = .duration(.seconds(1) ... .seconds(3600))
        if let time = section.value("connect_timeout", timeouts) { transfer.connectTimeout = time }
        if let time = section.value("send_timeout", timeouts) { transfer.sendTimeout = time }
        transfer.stallTimeout = section.value("stall_timeout", timeouts)
        if let offset = section.value("clock_offset", .offset(upTo: .seconds(3650 * 86_400))) {
            transfer.clockOffset = offset
        }
        transfer.proxy = section.value("proxy", .proxy)
        transfer.certificateFile = section.value("ca_file", .readableFile)
        return transfer
    }

    private static func readPacket(_ section: consuming Section) -> PacketLimits {
        var limits = PacketLimits()
        // From what the SDKs take as the least to what SLS takes at most.
        if let bytes = section.value("bytes", .size(1...Destination.requestBytesMax)) {
            limits.rawBytes = bytes
        }
        if let logs = section.value("logs", .count(1...40_960)) { limits.logs = logs }
        if let age = section.value("age", .duration(.milliseconds(10) ... .seconds(3600))) {
            limits.age = age
        }
        section.refuseOthers()
        return limits
    }

    /// A lane carries one packet at a time, so that twice as many as requests keep those busy while
    /// acknowledged packets wait for their commit.
    private static func readLanes(_ section: inout Section, concurrency: Int) -> Int {
        let isExactlyOnce = section.value("exactly_once", .boolean) ?? false
        let lanes = section.value("lanes", .count(1...512))
        if section.has("lanes"), !isExactlyOnce {
            section.problem(
                "lanes",
                "has a meaning with exactly_once: true only; add that, or remove lanes"
            )
        }
        return isExactlyOnce ? lanes ?? concurrency * 2 : 0
    }
}
