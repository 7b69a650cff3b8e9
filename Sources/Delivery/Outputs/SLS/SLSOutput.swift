import Configuration
import HTTPClient
import Logs
import Queue
import SLS
import System

/// Builds requests to SLS and judges their outcomes.
struct SLSOutput: Output {
    let settings: Destination
    private let compression: Compression
    private let signing: SigningMethod
    private let userAgent: String

    init(_ settings: Destination, userAgent: String) throws(EndpointError) {
        self.settings = settings
        self.userAgent = userAgent
        compression = Compression(rawValue: settings.bodyCompression.rawValue) ?? .lz4
        signing = try SigningMethod(
            settings.signature,
            region: settings.region,
            endpoints: settings.endpoints
        )
    }

    func work(
        for packet: SealedPacket,
        _ body: PacketBody,
        to endpoint: EndpointKey,
        by credential: Credential?,
        at time: WallTime
    ) -> CarrierWork {
        guard case .server(let endpoint, _) = endpoint, let credential else {
            preconditionFailure("settings of this kind name servers and a credential")
        }
        let put = put(
            packet.stream.logstore,
            to: endpoint,
            packet.lane.map { .hash(key: $0.key, sequence: $0.sequence) } ?? .balanced
        )
        return .request(transferRequest(put, body, by: credential, at: time))
    }

    /// A PutLogs without any log, which proves a credential.
    func proof(
        _ logstore: String,
        to endpoint: Endpoint,
        by credential: Credential,
        at time: WallTime
    ) -> TransferRequest {
        // A source that is empty, and nothing else.
        let emptyGroup: [UInt8] = [0x22, 0x00]
        var put = put(logstore, to: endpoint, .balanced)
        put.compression = .none
        let body = PacketBody(pieces: [emptyGroup[...]], rawBytes: emptyGroup.count)
        return transferRequest(put, body, by: credential, at: time)
    }

    private func put(
        _ logstore: String,
        to endpoint: Endpoint,
        _ route: PutLogsRequest.Route
    ) -> PutLogsRequest {
        PutLogsRequest(
            endpoint: endpoint,
            project: settings.project,
            logstore: logstore,
            route: route,
            compression: compression,
            userAgent: userAgent
        )
    }

    private func transferRequest(
        _ put: PutLogsRequest,
        _ body: PacketBody,
        by credential: Credential,
        at time: WallTime
    ) -> TransferRequest {
        let (url, headers) = put.signed(
            body: body.pieces,
            rawBytes: body.rawBytes,
            by: credential,
            signing,
            at: time
        )
        var request = TransferRequest(url, keeping: .slsAnswer)
        request.method = "POST"
        request.headers = headers.map { "\($0.name): \($0.value)" }
        request.body = .pieces(body.pieces)
        request.timeLimit = settings.timeLimit(bodyBytes: request.bodyBytes)
        return request
    }

    // MARK: - The outcome

    func judge(
        _ outcome: CarrierOutcome,
        of attempt: Attempt,
        by credential: Credential?
    ) -> Judgement {
        switch outcome {
        case .request(.answered(let response)):
            Judge.judge(SLSAnswer(response), attempt, by: credential)
        case .request(.failed(let failure)):
            Judge.judge(TransportProblem(failure), isTaken: attempt.isBodyTaken, by: credential)
        case .lines: preconditionFailure("this output's carrier is another one")
        }
    }

    // MARK: - The body

    func bodyBytesMax(of lease: Lease) -> Int {
        // Blocks in memory are joined as they are; of others only the bound is known.
        let isKnown = compression == .lz4 && lease.contentBytes > 0
        let bytes = isKnown ? lease.contentBytes : lease.packet.rawBytes
        return bytes + lease.packet.stream.trailer.bytes.count
    }

    /// The end of the LogGroup, after the logs: topic, source and tags of the stream, and the pack
    /// id, unless the stream has kept that of the device.
    func ending(of packet: SealedPacket) -> [UInt8] {
        let trailer = packet.stream.trailer
        let name = "__pack_id__"
        if trailer.tags.contains(where: { $0.key == name }) { return trailer.bytes }
        return trailer.bytes + GroupTrailer(tags: [(name, packet.packID)]).bytes
    }

    var encodesSlowly: Bool { compression != .lz4 }

    /// With lz4 the stored blocks are joined as they are; other compressions decompress them first.
    func body(of packet: SealedPacket, _ blocks: [StoredBlock]) throws(Unsendable) -> PacketBody {
        // The name becomes part of the URL.
        if let problem = NamePattern.logstore.problem(with: packet.stream.logstore) {
            throw Unsendable(reason: problem)
        }
        try checkSize(of: packet, blocks)
        let ending = ending(of: packet)
        do throws(LZ4Error) {
            if compression == .lz4 { return try stitched(blocks, ending) }
            let raw = try decompressed(blocks, ending)
            let body =
                switch compression {
                case .deflate: Deflate.compress(raw)
                case .zstd: Zstd.compress(raw)
                case .lz4, .none: raw
                }
            return PacketBody(pieces: [body[...]], rawBytes: raw.count)
        } catch {
            throw Unsendable(reason: "a row of the packet is damaged: \(error)", isDamage: true)
        }
    }

    private func stitched(
        _ blocks: [StoredBlock],
        _ ending: [UInt8]
    ) throws(LZ4Error) -> PacketBody {
        var stitcher = LZ4Stitcher()
        for block in blocks {
            try stitcher.append(block.compressed, rawBytes: block.rawBytes, isOwn: block.isOwn)
        }
        stitcher.append(literal: ending)
        let (pieces, rawBytes) = stitcher.finish()
        return PacketBody(pieces: pieces, rawBytes: rawBytes)
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

extension ResponseUse {
    private static let slsHeaders: Set<String> = [
        "x-log-requestid", "x-log-time", "date", "retry-after",
    ]

    static var slsAnswer: ResponseUse {
        ResponseUse(headers: slsHeaders, body: .first(16 << 10, max: 256 << 10))
    }
}

extension SLSAnswer {
    init(_ response: TransferResponse) {
        self.init(
            status: response.head.status,
            headers: response.head.headers,
            body: response.body
        )
    }

    /// The label of the answer in metrics: "OK", a known code, or one word for all others, because
    /// a server may make up any number of codes.
    var countedAs: String {
        if isStored { return "OK" }
        guard requestID != nil else { return "not_sls" }
        return errorCode.flatMap { ErrorCode.known($0) == nil ? nil : $0 } ?? "other"
    }

    var time: AnswerTime {
        // The two names that SLS has had for it.
        let codes: Set = ["RequestTimeExpired", "RequestTimeTooSkewed"]
        return AnswerTime(
            told: serverTime,
            isStored: isStored,
            isRefusedForItsTime: errorCode.map(codes.contains) ?? false
        )
    }
}
