import TestSupport
import Testing

@testable import Logs

/// Random groups, sound and broken, read by the decoder and in the obvious way.
@Suite struct PutLogsFuzzTests {
    private struct Writer {
        var random: SeededRandom

        mutating func chance(_ percent: Int) -> Bool {
            Int.random(in: 0..<100, using: &random) < percent
        }

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

    @Test("A truncated reference group does no harm", arguments: 0..<4)
    func reference(seed: Int) {
        var writer = Writer(random: SeededRandom(seed: UInt64(200 + seed)))
        let decoder = PutLogsDecoder()
        var taken = 0
        for _ in 0..<25_000 {
            let body = writer.mutated(referenceGroup)
            guard let tracked = try? decoder.read(body, LogRules(times: .sls)) else { continue }
            taken += 1
            let bytes = tracked.logs.sound.bytes
            #expect((try? LogEntries.count(bytes)) == tracked.logs.sound.count)
        }
        #expect(taken > 2500)
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
