import Testing

@testable import Logs

/// Random pushes, sound and broken, in both encodings.
@Suite struct LokiFuzzTests {
    private struct Writer {
        var random: SeededRandom

        mutating func count(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

        mutating func text() -> String {
            let pieces = ["a", "xyz ", "é", "世", "😀", "\"", "\\", "\n", "\u{1F}", "/", "\u{7F}"]
            return (0..<count(6)).map { _ in pieces.randomElement(using: &random)! }.joined()
        }

        mutating func push() -> SamplePush {
            SamplePush(
                (0..<count(3)).map { _ in
                    SamplePush.Stream(
                        labels: ["app", "job", "env"].shuffled(using: &random).prefix(count(3)).map
                        {
                            ($0, text())
                        },
                        entries: (0..<count(3)).map { _ in
                            let near = Int64(arrivalSeconds) * 1_000_000_000
                            let far = Int64.random(in: 0 ... .max, using: &random)
                            return SamplePush.Entry(
                                time: count(9) > 0 ? near + far % 1_000_000_000_000 : far,
                                line: text(),
                                metadata: ["pod", "content", "__topic__", "k"].prefix(count(4)).map
                                {
                                    ($0, text())
                                }
                            )
                        }
                    )
                }
            )
        }

        mutating func mutated(_ body: [UInt8], _ tempting: [UInt8]) -> [UInt8] {
            var body = body
            for _ in 0..<Int.random(in: 1...3, using: &random) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &random)
                let byte = tempting.randomElement(using: &random)!
                switch Int.random(in: 0..<6, using: &random) {
                case 0: body.remove(at: place)
                case 1: body.insert(byte, at: place)
                case 2: body.removeLast(body.count - place)
                case 3: body[place] &+= 1
                case 4: body[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                default: body[place] = byte
                }
            }
            return body
        }
    }

    @Test("Both encodings mean the same, in any order", arguments: 0..<4)
    func sound(seed: Int) throws {
        var writer = Writer(random: SeededRandom(UInt64(seed)))
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
    func broken(seed: Int) throws {
        var writer = Writer(random: SeededRandom(UInt64(100 + seed)))
        let decoders = LokiPair()
        let tags: [UInt8] = [0, 1, 2, 8, 9, 0x0A, 0x12, 0x1A, 0x2A, 0x7B, 0x7F, 0x80, 0xC3, 0xFF]
        let marks = Array(#"{}[],:"\n0-1eut/ "#.utf8) + [0x80, 0xC3, 0]
        func check(_ count: Int, _ read: () throws(LogDecodingError) -> [TrackedLogs]) throws {
            do throws(LogDecodingError) {
                for stream in try read() {
                    let sound = stream.logs.sound
                    #expect((try? LogEntries.count(sound.bytes)) == sound.count)
                }
            } catch {
                #expect(0...count ~= error.position, "\(error)")
            }
        }
        for _ in 0..<250 {
            let push = writer.push()
            let body = writer.mutated(push.protobuf(), tags)
            try check(body.count) { () throws(LogDecodingError) in try decoders.read(body) }
            let text = writer.mutated(Array(push.json().utf8), marks)
            try check(text.count) { () throws(LogDecodingError) in
                try padded(text) { text throws(LogDecodingError) in
                    try decoders.json.decodeLoki(text, BatchTiming(arrival: arrival))
                }
            }
        }
    }
}
