import TestSupport
import Testing

@testable import Logs

@Suite struct PackageListTests {
    let decoder = PutLogsDecoder()
    private static let log = Wire.bytes(1, Wire.log([("k", "v")]))

    private func package(_ data: [UInt8], size: Int? = nil, type: UInt64? = nil) -> [UInt8] {
        Wire.bytes(
            1,
            Wire.bytes(1, data) + (size.map { Wire.number(2, UInt64($0)) } ?? [])
                + (type.map { Wire.number(3, $0) } ?? [])
        )
    }

    private func read(
        _ body: [UInt8],
        _ limit: InflateLimit = InflateLimit(),
        _ decoder: PutLogsDecoder? = nil
    ) throws(LogDecodingError) -> [TrackedLogs] {
        try padded(body) { body throws(LogDecodingError) in
            try (decoder ?? self.decoder).decodePackages(
                LogBody(body, BatchTiming(arrival: arrival)),
                inflating: limit
            )
        }
    }

    private func fault(_ body: [UInt8], _ limit: InflateLimit = InflateLimit()) -> LogDecodingError?
    {
        refusal(try read(body, limit))
    }

    @Test("Each package is a group of its own, in each compression")
    func kinds() throws {
        let raw = referenceGroup
        let packages = [
            package(raw, type: 0), package(raw, size: 132, type: 0),
            package(Deflate.compress(raw), size: 132, type: 1),
            package(Deflate.compress(raw), type: 1),
            package(LZ4.compress(raw), size: 132, type: 2), package(LZ4.compress(raw), size: 132),
            package(Zstd.compress(raw), size: 132, type: 3), package(Zstd.compress(raw), type: 3),
        ]
        let groups = try read(packages.flatMap { $0 + Wire.any(9, type: 0) })
        #expect(groups.count == packages.count)
        let expected = try ReferenceLogGroup(decoder.read(raw))
        for group in groups { #expect(try ReferenceLogGroup(group) == expected) }
        #expect(try read([]).isEmpty)
    }

    @Test("Packages do not share topics, sources or tags")
    func apart() throws {
        let groups = try read(
            package(referenceGroup, type: 0) + package(Self.log, type: 0) + package([], type: 0)
        )
        #expect(groups.map(\.topic) == ["app", nil, nil])
        #expect(groups.map(\.tags.count) == [2, 0, 0])
        #expect(groups.map(\.logs.count) == [2, 1, 0])
    }

    @Test("A broken package is reported with its number and place")
    func faults() {
        let good = package(Self.log, type: 0)
        let broken = Array(Self.log.dropLast())
        // Its data begins behind two tags and two lengths.
        #expect(
            fault(good + package(broken, type: 0))
                == LogDecodingError(
                    position: good.count + 4,
                    reason: "package 2: the field is longer than its message"
                )
        )
        let inside = fault(good + package(LZ4.compress(broken), size: broken.count))
        #expect(inside?.position == good.count + 4)
        let reasons: [([UInt8], String)] = [
            (
                package(Deflate.compress(Self.log).dropLast(3), type: 1),
                "the compressed body is cut off"
            ),
            (
                package(LZ4.compress(Self.log)),
                "an lz4 package needs uncompress_size, the size of its content"
            ),
            (
                package(Zstd.compress(Self.log), size: 1, type: 3),
                "it does not hold the 1 bytes it should"
            ),
            (package([], size: 0), "the body is empty, which lz4 never is"),
        ]
        for (body, reason) in reasons {
            let error = LogDecodingError(
                position: 4,
                reason: "package 1: \(reason)",
                kind: .notInflatable
            )
            #expect(fault(body) == error)
        }
        #expect(fault(package([1], type: 4))?.reason == "compress_type must be 0, 1, 2 or 3")
        #expect(fault(Wire.bytes(1, Wire.number(2, .max)))?.position == 2)
        for field in [1, 2, 3] as [UInt64] {
            let type: UInt64 = field == 1 ? 0 : 2
            #expect(fault(Wire.bytes(1, Wire.any(field, type: type)))?.position == 2)
        }
        #expect(fault(Wire.number(1, 1))?.position == 0)
    }

    @Test("A truncated list is refused, or has fewer packages")
    func cut() throws {
        let body = (0..<4).flatMap {
            package(
                [LZ4.compress, Deflate.compress, Zstd.compress][$0 % 3](referenceGroup),
                size: 132,
                type: [2, 1, 3][$0 % 3]
            )
        }
        for end in 0..<body.count {
            let groups = try? read(Array(body[..<end]))
            if let groups { #expect(groups.count < 4) }
        }
    }

    @Test("Packages, their logs and what they hold are bounded together")
    func bounds() throws {
        var limits = LogLimits()
        (limits.packages, limits.logs) = (3, 4)
        let decoder = PutLogsDecoder(limits: limits)
        let one = package(Self.log, type: 0)
        let two = package(Self.log + Self.log, type: 0)
        #expect(try read(one + two + one, InflateLimit(), decoder).count == 3)
        #expect(throws: LogDecodingError.self) {
            try read(one + one + one + one, InflateLimit(), decoder)
        }
        #expect(throws: LogDecodingError.self) {
            try read(two + one + two, InflateLimit(), decoder)
        }

        // Each may be inflated, all together may not.
        let large = Wire.bytes(1, Wire.log([("k", String(repeating: "v", count: 4000))]))
        let limit = InflateLimit(bytes: 10_000)
        for (pack, type) in [(LZ4.compress, 2), (Deflate.compress, 1), (Zstd.compress, 3)]
            as [(([UInt8]) -> [UInt8], UInt64)]
        {
            let package = package(pack(large), size: large.count, type: type)
            #expect(try read(package + package, limit).count == 2)
            #expect(
                fault(package + package + package, limit)?.reason
                    == "package 3: the packages hold more than 10000 bytes; send smaller batches"
            )
            #expect(fault(package + package + package, limit)?.kind == .tooLarge)
        }
        let bomb = Wire.bytes(1, Wire.log([("k", String(repeating: "v", count: 900_000))]))
        let bombs = (0..<12).flatMap { _ in package(Zstd.compress(bomb), type: 3) }
        #expect(fault(bombs)?.reason.hasPrefix("package 2: ") == true)
        #expect(fault(bombs)?.kind == .tooLarge)
    }

    @Test("Damaged packages do no harm", arguments: 0..<4)
    func damaged(seed: Int) {
        var random = SeededRandom(seed: UInt64(seed))
        let body =
            package(LZ4.compress(referenceGroup), size: 132)
            + package(Zstd.compress(referenceGroup), type: 3)
            + package(Deflate.compress(referenceGroup), type: 1) + package(referenceGroup, type: 0)
        for _ in 0..<1000 {
            var broken = body
            random.damage(&broken, Int.random(in: 1...3, using: &random))
            if let groups = try? read(broken) { #expect(groups.count <= 5) }
        }
    }
}
