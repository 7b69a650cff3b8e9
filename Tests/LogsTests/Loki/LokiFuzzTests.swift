import TestSupport
import Testing

@testable import Logs

/// Random pushes, sound and broken, in both encodings.
@Suite struct LokiFuzzTests {
    private struct Writer {
        var random: SeededRandom

        mutating func count(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

        mutating func push() -> SamplePush {
            SamplePush(
                (0..<count(3)).map { _ in
                    SamplePush.Stream(
                        labels: ["app", "job", "env"].shuffled(using: &random).prefix(count(3)).map
                        {
                            ($0, random.text())
                        },
                        entries: (0..<count(3)).map { _ in
                            let near = Int64(arrivalSeconds) * 1_000_000_000
                            let far = Int64.random(in: 0 ... .max, using: &random)
                            return SamplePush.Entry(
                                time: count(9) > 0 ? near + far % 1_000_000_000_000 : far,
                                line: random.text(),
                                metadata: ["pod", "content", "__topic__", "k"].prefix(count(4)).map
                                {
                                    ($0, random.text())
                                }
                            )
                        }
                    )
                }
            )
        }
    }

    @Test("Both encodings mean the same, in any order", arguments: 0..<4)
    func sound(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(seed)))
        let decoders = LokiPair()
        for _ in 0..<100 {
            let push = writer.push()
            let streams = try decoders.read(push)
            #expect(
                streams.reduce(0) { $0 + $1.logs.count }
                    == push.streams.reduce(0) { $0 + $1.entries.count }
            )
            var random = writer.random
            let shuffled = try decoders.read(push.protobuf { $0.shuffled(using: &random) })
            #expect(try shuffled.map { try ReadStream($0) } == streams)
            let json = try decoders.read(json: push.json { $0.shuffled(using: &random) })
            #expect(try json.map { try ReadStream($0) } == streams)
        }
    }

    @Test("Broken pushes are refused with a place, or are whole logs", arguments: 0..<4)
    func broken(seed: Int) {
        var writer = Writer(random: SeededRandom(seed: UInt64(100 + seed)))
        let decoders = LokiPair()
        let tags: [UInt8] = [0, 1, 2, 8, 9, 0x0A, 0x12, 0x1A, 0x2A, 0x7B, 0x7F, 0x80, 0xC3, 0xFF]
        for _ in 0..<250 {
            let push = writer.push()
            let body = writer.random.mutated(push.protobuf(), tags)
            expectRefusedOrWhole(body.count) { () throws(LogDecodingError) in
                try decoders.read(body).map(\.logs)
            }
            let text = writer.random.mutated(Array(push.json().utf8), temptingInJSON)
            expectRefusedOrWhole(text.count) { () throws(LogDecodingError) in
                try padded(text) { text throws(LogDecodingError) in
                    try decoders.json.decodeLoki(text, BatchTiming(arrival: arrival)).map(\.logs)
                }
            }
        }
    }
}
