import Logs
import Queue

extension Output {
    /// The logs of a packet as JSON. A packet that becomes too long for the gateway's memory is
    /// taken apart: topic, source and tags stand in each log.
    func json(
        of packet: SealedPacket,
        _ blocks: [StoredBlock],
        as shape: LogJSON.Shape,
        _ framing: LogJSON.Framing
    ) throws(Unsendable) -> [UInt8] {
        try checkSize(of: packet, blocks)
        var json = LogJSON(shape, framing, of: packet.stream.trailer, bytesMax: jsonBytesMax)
        do {
            for block in blocks {
                let raw = try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
                try raw.withUnsafeBytes { raw in try json.append(raw) }
            }
        } catch {
            throw Unsendable(reason: "a row of the packet is damaged: \(error)", isDamage: true)
        }
        guard !json.isTooLarge else {
            throw Unsendable(reason: "the packet becomes more than \(jsonBytesMax) bytes of JSON")
        }
        return json.finish()
    }

    /// What the JSON of a packet has as a rule; only its content tells more.
    func jsonBytes(of packet: SealedPacket) -> Int {
        let perLog = 64 + packet.stream.trailer.bytes.count
        return min(jsonBytesMax, packet.rawBytes + packet.rawBytes / 8 + packet.logCount * perLog)
    }
}

/// As much as the smallest `delivery_memory`.
let jsonBytesMax = 32 << 20
