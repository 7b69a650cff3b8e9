import TestSupport
import Testing

@testable import Logs

@Suite struct ManyNamesTests {
    /// A log with these fields, by what it means: of a name the last field, in its place.
    private func expectLast(_ names: [String]) throws {
        var limits = LogLimits()
        limits.fields = 20_000
        var writer = LogWriter(limits: limits)
        writer.start(BatchTiming(arrival: arrival), LogRules())
        writer.startLog()
        for (index, name) in names.enumerated() { writer.field(name, "\(index)") }
        _ = writer.endLog()
        var last: [String: Int] = [:]
        for (index, name) in names.enumerated() { last[name] = index }
        let expected = last.sorted { $0.value < $1.value }.map { [$0.key, "\($0.value)"] }
        #expect(try writer.logs.sound.read() == [Read(expected)])
    }

    @Test("The last field of each name counts, among many names", arguments: 0..<8)
    func random(seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed))
        let variety = [10, 100, 1000, 20_000][seed % 4]
        try expectLast(
            (0..<Int.random(in: 60...20_000, using: &random)).map { _ in
                "n\(Int.random(in: 0..<variety, using: &random))"
            }
        )
    }

    @Test("Names that begin and end alike are told apart")
    func alike() throws {
        let names = (0..<5000).map { number in
            "same beginning \(number) same ending".padded(to: 60)
        }
        try expectLast(names + names.prefix(100))
    }

    @Test("A log with hundreds of thousands of names leaves nothing behind")
    func huge() throws {
        var limits = LogLimits()
        limits.fields = 400_000
        let decoder = PutLogsDecoder(limits: limits)
        var log = Wire.number(1, UInt64(arrivalSeconds))
        for number in 0..<300_000 {
            let name = [UInt8(number & 0x7F), UInt8(number >> 7 & 0x7F), UInt8(number >> 14)]
            log += Wire.bytes(2, Wire.pair(name, []))
        }
        let whole = try decoder.logs([log])
        #expect(whole.sound.bytes.count > 9 * 300_000)
        // One that comes again, behind all others.
        let again = try decoder.logs([log + Wire.bytes(2, Wire.pair([0, 0, 0], [0x76]))])
        #expect(again.sound.bytes.count == whole.sound.bytes.count + 1)
        #expect(try decoder.logs([Wire.log([("k", "v")])]).sound.read() == [Read([["k", "v"]])])
    }
}

extension String {
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: "-", count: max(0, count - utf8.count)) + "same ending"
    }
}
