import TestSupport
import Testing

@testable import Logs

/// Random bodies, sound and broken, read by the decoder and by an obvious parser: both must agree
/// on whether a body is sound and on every log in it.
@Suite struct JSONFuzzTests {
    struct Writer {
        var random: SeededRandom

        mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }

        mutating func pick(_ texts: [String]) -> String {
            texts.randomElement(using: &random) ?? ""
        }

        mutating func space() -> String {
            chance(85) ? "" : pick([" ", "\n", "\t ", "\r\n", "  "])
        }

        mutating func string() -> String {
            var text = ""
            for _ in 0..<Int.random(in: 0...(chance(5) ? 300 : 12), using: &random) {
                text += pick([
                    "a", "b", "xyz", "0", " ", "{", "}", "[", ",", ":", "é", "世", "😀", "\\n",
                    "\\\"",
                    "\\\\", "\\/", "\\u0041", "\\u00e9", "\\u4e16", "\\ud83d\\ude00", "\\u0000",
                ])
            }
            return "\"" + text + "\""
        }

        mutating func scalar() -> String {
            chance(60)
                ? string()
                : pick([
                    "0", "-0", "1e5", "1.50", "0.1000", "true", "false", "null", "-12.5E-7", "12",
                    "123456789012345678901234567890", "1e999", "\"\"",
                ])
        }

        mutating func value(_ depth: Int) -> String {
            guard depth < 5, chance(15) else { return scalar() }
            let count = Int.random(in: 0...3, using: &random)
            if chance(50) {
                let values = (0..<count).map { _ in space() + value(depth + 1) + space() }
                return "[" + (values.isEmpty ? space() : values.joined(separator: ",")) + "]"
            }
            let members = (0..<count).map { _ in
                space() + string() + space() + ":" + space() + value(depth + 1) + space()
            }
            return "{" + (members.isEmpty ? space() : members.joined(separator: ",")) + "}"
        }

        mutating func log() -> String {
            let members = (0..<Int.random(in: 0...(chance(3) ? 150 : 6), using: &random)).map { _ in
                let key =
                    chance(70)
                    ? pick([
                        "\"level\"", "\"message\"", "\"a\"", "\"\\u0061\"", "\"_x\"",
                        "\"__topic__\"", "\"duration_ms_of_the_request\"",
                        "\"duration_ms_of_the_answer\"",
                    ])
                    : "\"k\(Int.random(in: 0..<200, using: &random))\""
                return space() + key + space() + ":" + space() + value(2) + space()
            }
            var fields = members
            if chance(20) {
                let time = UInt32.random(in: 1_000_000_000...4_000_000_000, using: &random)
                fields.append("\"__time__\":" + (chance(50) ? "\(time)" : "\"\(time)\""))
            }
            return "{" + (fields.isEmpty ? space() : fields.joined(separator: ",")) + "}"
        }

        mutating func body() -> [UInt8] {
            var text = chance(5) ? "\u{FEFF}" : ""
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                text += space()
                if chance(40) {
                    let count = Int.random(in: 0...4, using: &random)
                    let logs = (0..<count).map { _ in space() + log() + space() }
                    text += "[" + logs.joined(separator: ",") + "]"
                } else {
                    text += log()
                }
                text += chance(50) ? "\n" : space()
            }
            return Array(text.utf8)
        }

        mutating func mutated(_ body: [UInt8]) -> [UInt8] {
            var body = body
            let tempting =
                Array("{}[]:,\"\\ \n0-1.eEtfnu\u{1}\u{c}\u{1a}".utf8) + [0x80, 0xC3, 0xED, 0xFF]
            for _ in 0..<Int.random(in: 1...3, using: &random) where !body.isEmpty {
                let place = Int.random(in: 0..<body.count, using: &random)
                let byte = tempting.randomElement(using: &random) ?? 0
                switch Int.random(in: 0..<5, using: &random) {
                case 0: body.remove(at: place)
                case 1: body.insert(byte, at: place)
                case 2: body.removeLast(body.count - place)
                case 3:
                    let end = min(body.count, place + Int.random(in: 0..<20, using: &random))
                    body.insert(contentsOf: body[place..<end], at: place)
                default: body[place] = byte
                }
            }
            return body
        }
    }

    static func check(_ body: [UInt8], _ decoder: JSONLogDecoder) throws {
        let expected = try? ReferenceJSON.logs(body)
        do throws(LogDecodingError) {
            let logs = try decoder.plain(body)
            let read = try? logs.read()
            #expect(read == expected, "\(String(decoding: body, as: UTF8.self))")
        } catch {
            #expect(expected == nil, "\(error): \(String(decoding: body, as: UTF8.self))")
            #expect(0...body.count ~= error.position)
        }
    }

    @Test("Sound bodies give what an obvious parser reads", arguments: 0..<4)
    func sound(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(seed)))
        let decoder = JSONLogDecoder()
        for _ in 0..<300 {
            let body = writer.body()
            _ = try ReferenceJSON.logs(body)
            try Self.check(body, decoder)
        }
    }

    @Test("Broken bodies are refused exactly when an obvious parser refuses them", arguments: 0..<4)
    func broken(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(1000 + seed)))
        let decoder = JSONLogDecoder()
        for _ in 0..<500 {
            let body = writer.body()
            for _ in 0..<3 { try Self.check(writer.mutated(body), decoder) }
        }
    }
}
