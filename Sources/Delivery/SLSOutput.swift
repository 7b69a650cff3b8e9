import Logs
import Queue
import SLS
import System

/// Turns packets into requests that a transfer can send. Knows SLS and packets, but no network.
struct SLSOutput {
    /// A request as the transport sends it.
    struct Request {
        let url: String
        let headers: [SLSRequest.Field]
        let body: [UInt8]
    }

    /// A packet that can never be sent as it is.
    struct Unsendable: Error, Equatable {
        let reason: String
        /// The content is not what it was; else the packet was never one that could be sent.
        var isDamage = false
    }

    let settings: DestinationSettings
    let signing: SigningMethod
    let userAgent: String

    init(_ settings: DestinationSettings, userAgent: String) throws(EndpointError) {
        self.settings = settings
        self.userAgent = userAgent
        signing = try SigningMethod(
            settings.signature,
            region: settings.region,
            endpoints: settings.endpoints
        )
    }

    func request(
        for packet: SealedPacket,
        _ blocks: [StoredBlock],
        to endpoint: Endpoint,
        by credential: Credential,
        at time: WallTime
    ) throws(Unsendable) -> Request {
        // The name becomes part of the URL.
        if let problem = NamePattern.logstore.problem(with: packet.stream.logstore) {
            throw Unsendable(reason: problem)
        }
        let stored = blocks.reduce(0) { $0 + $1.rawBytes }
        guard stored == packet.rawBytes else {
            throw Unsendable(
                reason: "the queue has \(stored) bytes of a packet that was sealed with "
                    + "\(packet.rawBytes)",
                isDamage: true
            )
        }
        let (body, rawBytes) = try encode(blocks, ending: ending(of: packet))
        let put = PutLogsRequest(
            endpoint: endpoint,
            project: settings.project,
            logstore: packet.stream.logstore,
            route: packet.lane.map { .hash(key: $0.key, sequence: $0.sequence) } ?? .balanced,
            compression: settings.compression,
            userAgent: userAgent
        )
        let (url, headers) = put.signed(
            body: body,
            rawBytes: rawBytes,
            by: credential,
            signing,
            at: time
        )
        return Request(url: url, headers: headers, body: body)
    }

    /// What comes after the logs: topic, source and tags of the stream, tags of the destination, and
    /// the pack id, unless the stream has kept that of the device.
    func ending(of packet: SealedPacket) -> [UInt8] {
        let trailer = packet.stream.trailer
        let present = Set(trailer.tags.map(\.key))
        let added = (settings.tags + [(key: "__pack_id__", value: packet.packID)])
            .filter { !present.contains($0.key) }
        return trailer.bytes + GroupTrailer(tags: added).bytes
    }

    /// lz4 joins the stored blocks as they are; the others take the ordinary way.
    private func encode(
        _ blocks: [StoredBlock],
        ending: [UInt8]
    ) throws(Unsendable) -> (body: [UInt8], rawBytes: Int) {
        do throws(LZ4Error) {
            switch settings.compression {
            case .lz4: return try stitched(blocks, ending)
            case .deflate:
                let raw = try decompressed(blocks, ending)
                return (Deflate.compress(raw), raw.count)
            case .zstd:
                let raw = try decompressed(blocks, ending)
                return (Zstd.compress(raw), raw.count)
            case .none:
                let raw = try decompressed(blocks, ending)
                return (raw, raw.count)
            }
        } catch {
            throw Unsendable(reason: "a row of the packet is damaged: \(error)", isDamage: true)
        }
    }

    private func stitched(
        _ blocks: [StoredBlock],
        _ ending: [UInt8]
    ) throws(LZ4Error) -> (body: [UInt8], rawBytes: Int) {
        let size = blocks.reduce(ending.count) { $0 + $1.compressed.count }
        var stitcher = LZ4Stitcher(expecting: size)
        for block in blocks {
            try stitcher.append(block.compressed, rawBytes: block.rawBytes)
        }
        stitcher.append(literal: ending)
        return stitcher.finish()
    }

    private func decompressed(
        _ blocks: [StoredBlock],
        _ ending: [UInt8]
    ) throws(LZ4Error) -> [UInt8] {
        var raw: [UInt8] = []
        raw.reserveCapacity(blocks.reduce(ending.count) { $0 + $1.rawBytes })
        for block in blocks {
            raw += try LZ4.decompress(block.compressed, rawBytes: block.rawBytes)
        }
        raw += ending
        return raw
    }
}
