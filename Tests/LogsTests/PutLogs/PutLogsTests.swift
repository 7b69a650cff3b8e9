import TestSupport
import Testing

@testable import Logs

@Suite
struct PutLogsTests {
    let decoder = PutLogsDecoder()

    @Test("The smallest group")
    func smallest() throws {
        let tracked = try decoder.read(bytes(hex: "0a0e0888c198bc0612060a016b120176"))
        #expect(try tracked.logs.sound.read() == [Read([["k", "v"]])])
        #expect(tracked.topic == nil && tracked.source == nil && tracked.tags.isEmpty)
    }

    @Test("The reference group, whose logs are taken byte by byte")
    func reference() throws {
        let tracked = try decoder.read(referenceGroup)
        #expect(tracked.topic == "app")
        #expect(tracked.source == "10.0.0.1")
        #expect(
            tracked.tags.map { [$0.key, $0.value] }
                == [["__pack_id__", "5D2D1E0A5CDB4E36-0"], ["env", "prod"]]
        )
        let logs = [
            Read([["level", "info"], ["msg", "héllo 世界"]]),
            Read([["empty", ""]], seconds: arrivalSeconds + 1, nanoseconds: 123_456_789),
        ]
        #expect(try tracked.logs.sound.read() == logs)
        let trailer = GroupTrailer(topic: "app", source: "10.0.0.1", tags: tracked.tags)
        #expect(tracked.logs.sound.bytes + trailer.bytes == referenceGroup)
    }

    @Test("The body that the SDKs test with")
    func sdk() throws {
        let body = bytes(
            hex: """
                0a320a1e08f8b2939e0512160a07546573744b6579120b54657374436f6e7465
                6e741a00220e31302e3233302e3230312e313137
                """
        )
        // The vector wraps the group once more than PutLogs does: as a LogGroupList.
        let tracked = try decoder.read(Array(body[2...]))
        #expect(
            try tracked.logs.sound.read()
                == [Read([["TestKey", "TestContent"]], seconds: 1_405_409_656)]
        )
        #expect(tracked.topic == "")
        #expect(tracked.source == "10.230.201.117")
    }

    @Test("The reference block of lz4 holds the reference group")
    func lz4() throws {
        let block = bytes(
            hex: """
                f1220a2b0888c198bc06120d0a056c6576656c1204696e666f12140a036d7367
                120d68c3a96c6c6f20e4b896e7958c0a1608892d00f03f090a05656d70747912
                002515cd5b071a03617070220831302e302e302e3132210a0b5f5f7061636b5f
                69645f5f1212354432443145304135434442344533362d30320b0a03656e7612
                0470726f64
                """
        )
        let inflater = Inflater()
        let literal = [0xF0, 0x75] + referenceGroup
        for block in [block, literal] {
            let tracked = try block.withUnsafeBytes { block in
                let content = try inflater.inflate(block, .lz4, rawBytes: 132)
                return try decoder.decode(LogBody(content, BatchTiming(arrival: arrival)))
            }
            #expect(try tracked.logs == decoder.read(referenceGroup).logs)
        }
    }

    @Test("A group may have no logs")
    func empty() throws {
        #expect(try decoder.read([]).logs.count == 0)
        let tracked = try decoder.read([0x1A, 1, 0x74])
        #expect(tracked.logs.count == 0)
        #expect(tracked.topic == "t")
    }

    @Test("Logs in another order than SLS asks for are written in that order")
    func order() throws {
        let content = Wire.bytes(2, Wire.pair("k", "v"))
        let time = Wire.number(1, UInt64(arrivalSeconds) - 9)
        let part = Wire.fixed32(4, 7)
        let logs = try decoder.logs([
            content + time + part, part + content + time, time + part + content,
            Wire.number(1, 5) + time + content + part,
        ])
        let log = Read([["k", "v"]], seconds: arrivalSeconds - 9, nanoseconds: 7)
        #expect(try logs.sound.read() == [log, log, log, log])
        for entry in try logs.sound.pieces(atMost: 1) { #expect(entry.bytes[2] == LogTag.time) }
        let swapped = Wire.bytes(2, Wire.bytes(2, [0x76]) + Wire.bytes(1, [0x6B]))
        #expect(try decoder.logs([swapped]).sound.read() == [Read([["k", "v"]])])
    }

    @Test("Missing times are the arrival, missing keys and values are empty")
    func missing() throws {
        let logs = try decoder.logs([
            [], Wire.fixed32(4, 7), Wire.bytes(2, []), Wire.bytes(2, Wire.bytes(1, [0x6B])),
            Wire.bytes(2, Wire.bytes(2, [0x76])),
        ])
        let fields = [[], [], [["__empty__", ""]], [["k", ""]], [["__empty__", "v"]]]
        #expect(try logs.sound.read() == fields.map { Read($0) })
    }

    @Test("Times that SLS cannot store cost no log")
    func times() throws {
        let logs = try decoder.logs([
            Wire.number(1, 5), Wire.number(1, 1 << 32), Wire.number(1, .max),
            Wire.number(1, 5) + Wire.fixed32(4, 1_000_000_000), [0x08, 0x85, 0x80, 0],
            Wire.log([], seconds: 5, nanoseconds: 0), Wire.log([], seconds: .max),
        ])
        let five = Read([], seconds: 5)
        #expect(
            try logs.sound.read() == [
                five, Read([["__original_time__", "4294967296"]]),
                Read([["__original_time__", "18446744073709551615"]]), five, five, five,
                Read([], seconds: .max),
            ]
        )
    }

    @Test("The rules for names, values, repeats, times and skew are those of JSON")
    func rules() throws {
        let long = String(repeating: "n", count: 129)
        let value = String(repeating: "v", count: 1 << 20 + 1)
        let bodies: [([(String, String)], Int64)] = [
            ([("a", "1"), ("b", "2"), ("a", "3")], 0), ([("__topic__", "t")], 0),
            ([("", "e"), ("_x", "y"), ("__tag__:k", "v")], 0), ([(long, "1"), ("k", value)], 0),
            ([("k", "v")], -8 * 86_400), ([("k", "v")], 3600), ([("k", "v")], 839),
            ((0..<80).map { ("k\($0 % 70)", "\($0)") }, 0), ([], 0),
        ]
        let json = JSONLogDecoder()
        for late in [LogRules.Late.rewrite, .drop, .setAside] {
            for oversize in [LogRules.Oversize.cut, .setAside] {
                for (index, (fields, offset)) in bodies.enumerated() {
                    let rules = LogRules(times: .sls, late: late, oversize: oversize)
                    let seconds = Int64(arrivalSeconds) + offset
                    let skew: Int64 = index % 2 == 0 ? 0 : 5
                    // The time last: where JSON keeps a late one is where it stands.
                    let members =
                        fields.map { "\"\($0.0)\":\"\($0.1)\"" } + ["\"__time__\":\(seconds)"]
                    #expect(
                        try decoder.logs(
                            [Wire.log(fields, seconds: UInt32(seconds))],
                            rules,
                            skew: skew
                        ) == json.ruled("{\(members.joined(separator: ","))}", rules, skew: skew)
                    )
                }
            }
        }
    }

    @Test("Text that is not UTF-8 is repaired, and its log is marked")
    func invalid() throws {
        let log =
            Wire.number(1, UInt64(arrivalSeconds)) + Wire.bytes(2, Wire.pair([0x6B], [0x76, 0xC3]))
            + Wire.bytes(2, Wire.pair("é", "世界"))
        #expect(
            try decoder.logs([log, Wire.log([("a", "é")])]).sound.read() == [
                Read([["k", "v\u{FFFD}"], ["é", "世界"], ["__invalid_utf8__", "k"]]),
                Read([["a", "é"]]),
            ]
        )
        let tracked = try decoder.read(
            Wire.bytes(3, [0xFF]) + Wire.bytes(4, [0x80])
                + Wire.bytes(6, Wire.pair([0xC0], [0x61, 0xF0]))
        )
        #expect(tracked.topic == "\u{FFFD}" && tracked.source == "\u{FFFD}")
        #expect(tracked.tags.map { [$0.key, $0.value] } == [["\u{FFFD}", "a\u{FFFD}"]])
    }

    private struct Writer {
        var random: SeededRandom

        mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }

        mutating func text(_ sizes: [Int]) -> [UInt8] {
            let pieces: [[UInt8]] = [
                Array("a".utf8), Array("xyz ".utf8), Array("é".utf8), Array("世".utf8),
                Array("😀".utf8), [0], [0xFF], [0xE4, 0xB8], [0xED, 0xA0, 0x80],
            ]
            let valid = chance(95) ? 6 : pieces.count
            let size = sizes.randomElement(using: &random)!
            var text: [UInt8] = []
            while text.count < size { text += pieces[Int.random(in: 0..<valid, using: &random)] }
            return text
        }

        mutating func name() -> [UInt8] {
            guard chance(80) else { return text([0, 1, 5, 20, 127, 128, 140]) }
            let names = ["level", "msg", "a", "b", "_x", "__topic__", "__time__", "duration_ms"]
            return Array(names.randomElement(using: &random)!.utf8)
        }

        mutating func content() -> [UInt8] {
            var parts = [Wire.bytes(1, name()), Wire.bytes(2, text([0, 3, 8, 20, 130, 300]))]
            if chance(3) { parts.shuffle(using: &random) }
            if chance(2) { parts.removeLast() }
            if chance(2) { parts.append(Wire.any(7, type: 0)) }
            return parts.flatMap { $0 }
        }

        mutating func log() -> [UInt8] {
            var parts: [[UInt8]] = []
            if !chance(3) {
                let seconds = UInt64(UInt32.random(in: 1 << 28 ... .max, using: &random))
                parts.append(Wire.number(1, chance(3) ? seconds << 8 : seconds))
            }
            for _ in 0..<Int.random(in: 0...(chance(3) ? 100 : 5), using: &random) {
                parts.append(Wire.bytes(2, content()))
            }
            if chance(20) {
                parts.append(Wire.fixed32(4, .random(in: 0...1_000_000_000, using: &random)))
            }
            if chance(3) { parts.append(Wire.any(9, type: 5)) }
            if chance(5) { parts.shuffle(using: &random) }
            return parts.flatMap { $0 }
        }

        mutating func group() -> [UInt8] {
            var parts: [[UInt8]] = []
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                parts.append(Wire.bytes(1, log()))
            }
            if chance(50) { parts.append(Wire.bytes(3, text([0, 3, 100]))) }
            if chance(50) { parts.append(Wire.bytes(4, text([0, 3, 100]))) }
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                parts.append(Wire.bytes(6, Wire.pair(name(), text([0, 5, 50]))))
            }
            if chance(20) { parts.shuffle(using: &random) }
            return parts.flatMap { $0 }
        }

        mutating func mutated(_ body: [UInt8]) -> [UInt8] {
            let tempting: [UInt8] = [
                0, 1, 2, 4, 5, 8, 0x0A, 0x12, 0x1A, 0x22, 0x25, 0x32, 0x7F, 0x80, 0xC3, 0xFF,
            ]
            return random.mutated(body, tempting)
        }
    }

    private static func check(_ body: [UInt8], _ decoder: PutLogsDecoder) {
        let expected = try? ReferenceLogGroup(body)
        do throws(LogDecodingError) {
            let tracked = try decoder.read(body)
            let read = try? ReferenceLogGroup(tracked)
            #expect(read != nil && read == expected, "\(body)")
        } catch {
            #expect(expected == nil, "\(error): \(body)")
            #expect(0...body.count ~= error.position)
        }
    }

    @Test("Groups decode to what a reference reader finds", arguments: 0..<4)
    func sound(seed: Int) {
        var writer = Writer(random: SeededRandom(seed: UInt64(seed)))
        let decoder = PutLogsDecoder()
        for _ in 0..<300 { Self.check(writer.group(), decoder) }
    }

    @Test("Broken groups are refused, or decode to what a reference reader finds", arguments: 0..<4)
    func broken(seed: Int) {
        var writer = Writer(random: SeededRandom(seed: UInt64(100 + seed)))
        let decoder = PutLogsDecoder()
        for _ in 0..<300 {
            let group = writer.group()
            for _ in 0..<4 { Self.check(writer.mutated(group), decoder) }
        }
    }

    @Test("Logs of this room's writers are copied as they are")
    func written() throws {
        var writer = JSONFuzzTests.Writer(random: SeededRandom(seed: 5))
        let (json, decoder) = (JSONLogDecoder(), PutLogsDecoder())
        for _ in 0..<200 {
            let logs = try json.plain(writer.body())
            #expect(try decoder.read(logs.bytes).logs == DecodedLogs(sound: logs))
        }
    }
}
