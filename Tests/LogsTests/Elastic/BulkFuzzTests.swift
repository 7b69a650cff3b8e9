import TestSupport
import Testing

@testable import Logs

@Suite struct BulkFuzzTests {
    private static let body = """
        {"create":{"_index":"app-2025.01.14","_id":"\\u0031é","pipeline":"p"}}
        {"@timestamp":"2025-01-14T08:29:59.5Z","message":"世界 \\ud83d\\ude00","n":{"x":[1,{"y":null}]}}
        {"delete":{"_id":"7"}}
        {"index":{}}
        {"a":1,"b":[true,false]}

        """

    @Test("A body cut at any byte is refused, or has the documents before the cut")
    func truncated() throws {
        let decoder = JSONLogDecoder()
        let bytes = Array(Self.body.utf8)
        for count in 0..<bytes.count {
            do throws(LogDecodingError) {
                let logs = try decoder.bulk(Array(bytes[..<count]), index: "i")
                #expect(logs.items.count <= 3)
                for part in logs.parts { #expect((try? part.logs.sound.read()) != nil) }
            } catch {
                #expect(0...count ~= error.position)
            }
        }
        let all = try decoder.bulk(bytes, index: "i")
        #expect(all.items.items.map(\.outcome) == [.taken, .unsupported, .taken])
    }

    @Test("Broken bodies are refused with a place, or are whole logs", arguments: 0..<4)
    func broken(seed: Int) throws {
        var writer = JSONFuzzTests.Writer(random: SeededRandom(seed: UInt64(500 + seed)))
        let decoder = JSONLogDecoder()
        let rules = LogRules(times: .sls, late: .setAside)
        for index in 0..<1500 {
            var text = Self.body
            if index % 2 == 0 {
                text = (0..<3).map { _ in
                    "{\"index\":{\"_index\":\(writer.string()),\"_id\":\(writer.scalar())}}\n"
                        + "\(writer.log())\n"
                }.joined()
            }
            let body = writer.mostlyBroken(text)
            do throws(LogDecodingError) {
                let logs = try decoder.bulk(body, rules, index: "i")
                let taken = logs.items.items.count { $0.outcome == .taken }
                #expect(logs.parts.reduce(0) { $0 + $1.logs.count } == taken)
                for part in logs.parts { expectReadable(part.logs) }
                for item in logs.items.items {
                    guard case .unreadable(let number) = item.outcome else { continue }
                    #expect(0...body.count ~= logs.items.fault(number).position)
                }
            } catch {
                #expect(0...body.count ~= error.position, "\(error)")
            }
        }
    }
}
