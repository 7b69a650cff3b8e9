import Testing

@testable import SQLiteQueue

@Suite struct LaneKeyTests {
    @Test("One key lies in each part of the range, wherever its bounds are", arguments: 1...40)
    func spread(parts: Int) {
        var generator = SeededGenerator(seed: UInt64(parts))
        for part in 0..<parts {
            let key = LaneKey(inPart: part, of: parts, using: &generator)
            #expect(key.part(of: parts) == part)
        }
    }

    @Test("Shards get their share of the keys, however many there are")
    func share() {
        var generator = SeededGenerator(seed: 3)
        for parts in [8, 64, 512] {
            for shards in [2, 3, 5] {
                var found = [Int](repeating: 0, count: shards)
                for part in 0..<parts {
                    let key = LaneKey(inPart: part, of: parts, using: &generator)
                    found[key.part(of: shards)] += 1
                }
                // One part may lie across each bound between two shards.
                for count in found { #expect(abs(count * shards - parts) <= 2 * shards) }
            }
        }
    }

    @Test("Keys of one part differ, and lie anywhere in it")
    func distinct() {
        var generator = SystemRandomNumberGenerator()
        let keys = (0..<1000).map { _ in LaneKey(inPart: 1, of: 4, using: &generator) }
        #expect(Set(keys).count == 1000)
        let inQuarters = Set(keys.map { $0.part(of: 16) })
        #expect(inQuarters == [4, 5, 6, 7])
    }

    @Test("A key is sent as 32 lower hexadecimal digits, with those in front that are 0")
    func text() {
        #expect(LaneKey(value: 0).text == String(repeating: "0", count: 32))
        #expect(LaneKey(value: 0xAB).text == String(repeating: "0", count: 30) + "ab")
        #expect(LaneKey(value: .max).text == String(repeating: "f", count: 32))
        var generator = SeededGenerator(seed: 1)
        for _ in 0..<100 {
            let key = LaneKey(inPart: 0, of: 1, using: &generator)
            #expect(key.text.utf8.count == 32)
            #expect(UInt128(key.text, radix: 16) == key.value)
            #expect(key.text == key.text.lowercased())
        }
    }

    @Test("What is stored is read back, and nothing else is taken for a key")
    func bytes() {
        var generator = SeededGenerator(seed: 2)
        let key = LaneKey(inPart: 0, of: 1, using: &generator)
        #expect(LaneKey(bytes: key.bytes) == key)
        #expect(LaneKey(bytes: Array(key.bytes.dropLast())) == nil)
        #expect(LaneKey(bytes: []) == nil)
    }
}
