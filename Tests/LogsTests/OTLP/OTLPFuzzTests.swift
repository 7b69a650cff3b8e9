import TestSupport
import Testing

@testable import Logs

/// Random requests, sound and broken, in both encodings.
@Suite struct OTLPFuzzTests {
    private struct Writer {
        var random: SeededRandom

        mutating func chance(_ percent: Int) -> Bool { random.chance(percent) }

        mutating func text() -> String { random.text() }

        mutating func value(_ depth: Int = 0) -> SampleValue {
            switch Int.random(in: 0..<(depth < 4 ? 9 : 7), using: &random) {
            case 0: return .empty
            case 1, 2: return .string(text())
            case 3: return .boolean(chance(50))
            case 4: return .integer(.random(in: .min ... .max, using: &random))
            case 5:
                let doubles = [
                    (0.1, "0.1"), (-1e21, "-1e+21"), (.leastNonzeroMagnitude, "5e-324"), (3, "3"),
                    (.infinity, "Infinity"),
                ]
                let (number, shown) = doubles.randomElement(using: &random)!
                return .double(number, shown)
            case 6: return chance(50) ? .bytes([0xFF], base64: "/w==") : .bytes([], base64: "")
            case 7: return .array((0..<count(3)).map { _ in value(depth + 1) })
            default: return .pairs((0..<count(3)).map { _ in (text(), value(depth + 1)) })
            }
        }

        mutating func count(_ most: Int) -> Int { Int.random(in: 0...most, using: &random) }

        mutating func attributes() -> [(String, SampleValue)] {
            let names = ["host.name", "service.name", "http.status", "a"]
            return (0..<count(4)).map { _ in
                (chance(60) ? names.randomElement(using: &random)! : text(), value())
            }
        }

        mutating func bytes(_ count: Int) -> [UInt8] {
            chance(30) ? [] : (0..<count).map { _ in .random(in: 0...255, using: &random) }
        }

        mutating func record() -> SampleRequest.Record {
            let near =
                UInt64(arrivalSeconds) * 1_000_000_000 + .random(in: 0..<1 << 40, using: &random)
            return .init(
                time: chance(80) ? near : chance(50) ? 0 : .random(in: 0 ... .max, using: &random),
                observedTime: chance(50) ? near : 0,
                severityNumber: count(24),
                severityText: text(),
                body: chance(90) ? value() : nil,
                attributes: attributes(),
                droppedAttributes: chance(10) ? count(9) : 0,
                flags: chance(50) ? 1 : .random(in: 0 ... .max, using: &random),
                traceID: bytes(16),
                spanID: bytes(8),
                eventName: chance(20) ? text() : ""
            )
        }

        mutating func request() -> SampleRequest {
            SampleRequest(
                (0..<count(2)).map { _ in
                    (
                        attributes(),
                        (0..<count(2)).map { _ in
                            SampleRequest.Scope(
                                name: text(),
                                version: text(),
                                attributes: chance(30) ? attributes() : [],
                                records: (0..<count(3)).map { _ in record() }
                            )
                        }
                    )
                }
            )
        }
    }

    @Test("Both encodings mean the same, and what they should", arguments: 0..<4)
    func sound(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(seed)))
        let decoders = OTLPPair()
        for _ in 0..<100 {
            let request = writer.request()
            let logs = try decoders.read(request.protobuf())
            var expected = request.fields
            for (index, log) in try logs.sound.read().enumerated() {
                let isOdd = log.fields.first?.first == "__original_time__"
                if isOdd { expected[index].insert(log.fields[0], at: 0) }
                #expect(log.fields == expected[index])
            }
            #expect(logs.count == expected.count)
            #expect(try decoders.read(json: request.json()) == logs)
            var random = writer.random
            let shuffled = request.json { $0.shuffled(using: &random) }
            #expect(try decoders.read(json: shuffled) == logs)
            let rules = LogRules(times: .sls, late: .setAside, oversize: .setAside)
            #expect(
                try decoders.read(request.protobuf { $0.shuffled(using: &random) }, rules)
                    == decoders.read(json: shuffled, rules)
            )
        }
    }

    @Test("A request that would be too large loses nothing", arguments: 0..<4)
    func lean(seed: Int) throws {
        var writer = Writer(random: SeededRandom(seed: UInt64(200 + seed)))
        let decoders = OTLPPair()
        for _ in 0..<50 {
            var request = writer.request()
            // Enough that repeating is more than a stream of its own.
            for index in request.resources.indices where writer.chance(50) {
                let large = String(repeating: writer.text() + "x", count: 5000)
                request.resources[index].attributes.append(("large", .string(large)))
                for scope in request.resources[index].scopes.indices {
                    let records = (0..<10).map { _ in writer.record() }
                    request.resources[index].scopes[scope].records += records
                }
            }
            let whole = try decoders.read(request.protobuf())
            let bytesMax = max(whole.bytes - 1, 1)
            guard let groups = try? decoders.groups(request.protobuf(), atMost: bytesMax) else {
                continue
            }
            // Empty texts are left out; tags are for all logs of their group.
            let nothing = ["", "{}", "0"]
            let lean = try groups.flatMap { group in
                try group.logs.sound.read().map { log in
                    (group.tags.map { [$0.key, $0.value] } + log.fields)
                        .filter { !nothing.contains($0[1]) }.sorted { $0[0] < $1[0] }
                }
            }
            let expected = try whole.sound.read().map { log in
                log.fields.filter { !nothing.contains($0[1]) }.sorted { $0[0] < $1[0] }
            }
            #expect(lean == expected)
            var random = writer.random
            let json = try decoders.groups(
                json: request.json { $0.shuffled(using: &random) },
                atMost: bytesMax
            )
            #expect(json.map(\.logs) == groups.map(\.logs))
            #expect(json.map { "\($0.tags)" } == groups.map { "\($0.tags)" })
        }
    }
}
