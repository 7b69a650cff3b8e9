import TestSupport
import Testing

@testable import Logs

/// Random bodies under random rules, against the rules applied to what an obvious parser reads.
@Suite struct LogRulesModelTests {
    /// Enough for reserved names, which are longer as they are stored.
    private static let nameBytes = 14
    private static let valueBytes = 20

    private struct Outcome {
        var sound: [Read] = []
        var faulty: [Read] = []
        var dropped = 0
    }

    private static func outcome(_ logs: [Read], _ rules: LogRules) -> Outcome {
        var outcome = Outcome()
        let window = UInt32(clamping: Int64(arrivalSeconds) - 1_000_000_000)...arrivalSeconds + 60
        for var log in logs {
            // The arrival is in the window, so what is outside is the log's own.
            let isLate = !window.contains(log.seconds)
            if isLate, rules.late == .drop {
                outcome.dropped += 1
                continue
            }
            let long = log.fields.indices.filter {
                log.fields[$0][0].utf8.count > nameBytes
                    || log.fields[$0][1].utf8.count > valueBytes
            }
            if rules.oversize == .cut, !long.isEmpty {
                for index in long {
                    log.fields[index][0] = storableName(log.fields[index][0], bytesMax: nameBytes)
                    log.fields[index][1] = prefix(of: log.fields[index][1], bytesMax: valueBytes)
                }
                let names = long.map { log.fields[$0][0] }.joined(separator: ",")
                log.fields.append(["__truncated__", names])
            }
            if isLate || (rules.oversize == .setAside && !long.isEmpty) {
                outcome.faulty.append(log)
            } else {
                outcome.sound.append(log)
            }
        }
        return outcome
    }

    @Test("Each log ends up where a model of the rules puts it", arguments: 0..<4)
    func model(seed: Int) throws {
        var writer = JSONFuzzTests.Writer(random: SeededRandom(seed: UInt64(500 + seed)))
        var limits = LogLimits()
        limits.keyBytes = Self.nameBytes
        limits.valueBytes = Self.valueBytes
        let decoder = JSONLogDecoder(limits: limits)
        var excluded = 0
        for _ in 0..<300 {
            let body = writer.body()
            let rules = LogRules(
                times: TimeWindow(past: .seconds(1_000_000_000), future: .seconds(60)),
                late: writer.chance(50) ? .drop : .setAside,
                oversize: writer.chance(50) ? .cut : .setAside
            )
            let expected = Self.outcome(try ReferenceJSON.logs(body), rules)
            let logs = try decoder.ruled(body, rules)
            let text = String(decoding: body, as: UTF8.self)
            #expect(try logs.sound.read() == expected.sound, "\(text)")
            #expect(logs.dropped == expected.dropped, "\(text)")
            let faulty = try logs.faulty.flatMap { try $0.logs.read() }
            // They are in the order of their faults.
            #expect(
                faulty.map(\.description).sorted() == expected.faulty.map(\.description).sorted(),
                "\(text)"
            )
            excluded += logs.count - logs.sound.count
        }
        #expect(excluded > 100)
    }
}
