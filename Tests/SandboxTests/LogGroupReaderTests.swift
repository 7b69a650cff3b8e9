import JSON
import System
import Testing

@testable import Sandbox

@Suite struct LogGroupReaderTests {
    static func read(
        _ bytes: [UInt8],
        _ limits: SandboxConfiguration.Limits = .init()
    ) throws(SLSRefusal) -> ReceivedLogs {
        let rules = LogChecks(limits: limits, now: TestWrite.noon)
        return try bytes.withUnsafeBufferPointer { bytes throws(SLSRefusal) in
            try LogGroupReader.read(UnsafeRawBufferPointer(bytes), rules: rules)
        }
    }

    /// The error code that these bytes earn.
    static func code(_ bytes: [UInt8]) -> String? {
        do {
            _ = try read(bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test
    func `The reference group is read in full`() throws {
        let logs = try Self.read(Vectors.raw)
        #expect(logs.topic == "app")
        #expect(logs.source == "10.0.0.1")
        #expect(logs.packID == "5D2D1E0A5CDB4E36-0")
        #expect(
            logs.tags.text == #""__tag__:__pack_id__":"5D2D1E0A5CDB4E36-0","__tag__:env":"prod""#
        )
        #expect(
            logs.json.text == #"{"level":"info","msg":"héllo 世界"}"# + "\n" + #"{"empty":""}"# + "\n"
        )
        #expect(logs.entries.map(\.time) == [1_736_843_400, 1_736_843_401])
        #expect(logs.entries.map(\.nanoseconds) == [nil, 123_456_789])
        #expect(logs.rawBytes == 132)
    }

    @Test
    func `Quotes, backslashes and control characters are kept as JSON`() throws {
        let group = TestGroup(logs: [.init(fields: [("a\"b", "\\\n\r\t\u{01}é")])])
        let logs = try Self.read(group.bytes)
        #expect(logs.json.text == #"{"a\"b":"\\\n\r\t\u0001é"}"# + "\n")
    }

    static let log = TestGroup().bytes
    static let time: [UInt8] = [0x08, 0x88, 0xC1, 0x98, 0xBC, 0x06]
    static let pair = TestGroup.chunk(0x12, TestGroup.pair("k", "v"))

    static func entry(_ fields: [UInt8]...) -> [UInt8] {
        TestGroup.chunk(0x0A, fields.flatMap { $0 })
    }

    struct Odd: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]

        init(_ name: String, _ parts: [UInt8]...) {
            testDescription = name
            bytes = parts.flatMap { $0 }
        }
    }

    static let letter: [UInt8] = [0x01, 0x61]
    static let keyOnly: [UInt8] = [0x0A, 0x01, 0x61]
    static let valueOnly: [UInt8] = [0x12, 0x01, 0x61]

    static let odd = [
        Odd("no log"),
        Odd("topic before the logs", [0x1A], letter, log),
        Odd("source before topic", log, [0x22], letter, [0x1A], letter),
        Odd("two topics", log, [0x1A], letter, [0x1A], letter),
        Odd("an unknown field", log, [0x3A, 0x00]),
        Odd("a log as a number", [0x08, 0x01]),
        Odd("a group", [0x0B]),
        Odd("field number zero", [0x02, 0x00]),
        Odd("cut in a tag's length", log, [0x1A]),
        Odd("more announced than there is", log, [0x1A, 0x05, 0x61]),
        Odd("a length beyond 63 bits", log, [0x1A], [UInt8](repeating: 0xFF, count: 9), [0x01]),
        Odd("a number of eleven bytes", [UInt8](repeating: 0x80, count: 10), [0x01]),
        Odd("a log without time", entry(pair)),
        Odd("time after the contents", entry(pair, time)),
        Odd("time twice", entry(time, time, pair)),
        Odd("time beyond 32 bits", entry([0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F], pair)),
        Odd("time as text", entry([0x0A, 0x00], pair)),
        Odd("values for readers", entry(time, pair, [0x1A, 0x00])),
        Odd("nanoseconds of a second", entry(time, pair, [0x25, 0, 0xCA, 0x9A, 0x3B])),
        Odd("nanoseconds cut off", entry(time, pair, [0x25, 0, 0])),
        Odd("contents after nanoseconds", entry(time, [0x25, 0, 0, 0, 0], pair)),
        Odd("a content without value", entry(time, TestGroup.chunk(0x12, keyOnly))),
        Odd("a content without key", entry(time, TestGroup.chunk(0x12, valueOnly))),
        Odd("value before key", entry(time, TestGroup.chunk(0x12, valueOnly + keyOnly))),
        Odd("two values", entry(time, TestGroup.chunk(0x12, keyOnly + valueOnly + valueOnly))),
        Odd("a tag without value", log, TestGroup.chunk(0x32, keyOnly)),
    ]

    @Test("What is not strictly a LogGroup is refused", arguments: odd)
    func strict(_ odd: Odd) {
        #expect(Self.code(odd.bytes) == "PostBodyInvalid")
    }

    @Test(
        "Text that is not UTF-8 is refused wherever it is",
        arguments: [
            [0xFF], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            Array("0123456789".utf8) + [0xE4, 0xB8], Array("01234567".utf8) + [0x80],
        ] as [[UInt8]]
    )
    func encoding(_ text: [UInt8]) {
        let key = TestGroup.chunk(0x12, TestGroup.chunk(0x0A, text) + [0x12, 0x00])
        let value = TestGroup.chunk(0x12, [0x0A, 0x01, 0x61] + TestGroup.chunk(0x12, text))
        let tag = TestGroup.chunk(0x32, [0x0A, 0x01, 0x61] + TestGroup.chunk(0x12, text))
        #expect(Self.code(Self.entry(Self.time, key)) == "InvalidEncoding")
        #expect(Self.code(Self.entry(Self.time, value)) == "InvalidEncoding")
        #expect(Self.code(Self.log + tag) == "InvalidEncoding")
        #expect(Self.code(Self.log + TestGroup.chunk(0x1A, text)) == "InvalidEncoding")
        #expect(Self.code(Self.log + TestGroup.chunk(0x22, text)) == "InvalidEncoding")
    }

    @Test(
        "Keys that SLS does not take are refused",
        arguments: [
            "", String(repeating: "k", count: 129), "__time__", "__topic__", "__source__",
            "__partition_time__", "_extract_others_", "__extract_others__",
        ]
    )
    func wrongKey(_ key: String) {
        let group = TestGroup(logs: [.init(fields: [(key, "")])])
        #expect(Self.code(group.bytes) == "InvalidKey")
    }

    @Test(
        "Other keys are taken",
        arguments: [
            String(repeating: "k", count: 128), "__tag__:env", "__time", "Größe", "1 key",
        ]
    )
    func rightKey(_ key: String) {
        let group = TestGroup(logs: [.init(fields: [(key, "")])])
        #expect(Self.code(group.bytes) == nil)
    }

    @Test
    func `Values, topics and sources are bounded`() {
        let full = String(repeating: "x", count: 1024 * 1024)
        let name = String(repeating: "x", count: 128)
        #expect(Self.code(TestGroup(logs: [.init(fields: [("k", full)])]).bytes) == nil)
        #expect(
            Self.code(TestGroup(logs: [.init(fields: [("k", full + "x")])]).bytes)
                == "PostBodyInvalid"
        )
        #expect(Self.code(TestGroup(topic: name, source: name).bytes) == nil)
        #expect(Self.code(TestGroup(topic: name + "x").bytes) == "PostBodyInvalid")
        #expect(Self.code(TestGroup(source: name + "x").bytes) == "PostBodyInvalid")
    }

    static let now = UInt32(TestWrite.noon.seconds)

    @Test(
        "One log outside the time window spoils the whole request",
        arguments: [now - 7 * 86400 - 1, now + 901, 0, .max]
    )
    func outside(_ time: UInt32) {
        let group = TestGroup(logs: [.init(), .init(time: time), .init()])
        #expect(Self.code(group.bytes) == "PostBodyInvalid")
    }

    @Test("The ends of the time window belong to it", arguments: [now - 7 * 86400, now + 900])
    func inside(_ time: UInt32) {
        let group = TestGroup(logs: [.init(time: time)])
        #expect(Self.code(group.bytes) == nil)
    }

    @Test
    func `A log more than allowed is too much`() throws {
        var limits = SandboxConfiguration.Limits()
        limits.logsPerRequestMax = 3
        let log = TestGroup.Log()
        #expect(try Self.read(TestGroup(logs: [log, log, log]).bytes, limits).entries.count == 3)
        #expect(throws: SLSRefusal(413, "PostBodyTooLarge", "Logs count 4 must little than 3.")) {
            try Self.read(TestGroup(logs: [log, log, log, log]).bytes, limits)
        }
    }

    @Test
    func `Padded lengths are read, as protobuf allows them`() throws {
        let log = Array(Self.log.dropFirst(2))
        let padded = [0x0A, UInt8(log.count) | 0x80, 0x80, 0x80, 0x80, 0x00] + log
        #expect(try Self.read(padded).entries.count == 1)
    }

    @Test("Whatever the bytes, reading ends with logs or a refusal", arguments: 0..<16)
    func mutations(_ seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let samples = [
            Vectors.raw, Vectors.minimal,
            TestGroup(
                logs: [.init(nanoseconds: 5, fields: [("a", "b"), ("c", "größer als acht")])],
                topic: "t",
                source: "s",
                tags: [("env", "prod")]
            ).bytes,
        ]
        for _ in 0..<2000 {
            var bytes = samples[Int.random(in: samples.indices, using: &random)]
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let place = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2 where bytes.count > 1: bytes.remove(at: place)
                default: bytes.insert(UInt8.random(in: .min ... .max, using: &random), at: place)
                }
            }
            guard let logs = try? Self.read(bytes) else { continue }
            #expect(!logs.entries.isEmpty)
            for entry in logs.entries {
                let object = Array(logs.json.bytes[entry.fields])
                #expect((try? JSONValue(parsing: object)) != nil)
            }
        }
    }

    @Test
    func `A group cut anywhere is refused or ends between fields`() {
        for count in 0..<Vectors.raw.count {
            guard let logs = try? Self.read(Array(Vectors.raw[..<count])) else { continue }
            #expect([45, 69, 74, 84, 119].contains(count), "\(count)")
            #expect(!logs.entries.isEmpty)
        }
    }
}
