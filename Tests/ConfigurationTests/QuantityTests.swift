import System
import Testing

@testable import Configuration

@Suite struct QuantityTests {
    @Test(
        "Sizes are a number and a unit",
        arguments: [
            ("0", 0), ("100", 100), ("100B", 100), ("1KiB", 1024), ("4GiB", 4 << 30),
            ("10MB", 10_000_000), ("2TiB", 2 << 40),
        ]
    )
    func sizes(text: String, bytes: Int) {
        #expect(byteSize(text) == bytes)
    }

    @Test(
        "What is no size is refused",
        arguments: ["", "GiB", "4G", "4 GiB", "1.5GiB", "-1", "4gib", "99999999999TiB", "٣KiB"]
    )
    func noSize(text: String) {
        #expect(byteSize(text) == nil)
    }

    @Test(
        "Durations are numbers with units",
        arguments: [
            ("500ms", Duration.milliseconds(500)), ("1s", .seconds(1)), ("1h30m", .seconds(5400)),
            ("7d", .seconds(604_800)), ("0s", .zero), ("0", .zero),
        ]
    )
    func durations(text: String, expected: Duration) {
        #expect(timeSpan(text) == expected)
    }

    @Test("What is no duration is refused", arguments: ["", "1", "s", "1.5s", "-1s", "1 s", "1w"])
    func noDuration(text: String) {
        #expect(timeSpan(text) == nil)
    }

    @Test(
        "Shares are percentages",
        arguments: [("20%", 20), ("0%", 0), ("0", 0), ("90%", 90)]
    )
    func shares(text: String, share: Int) throws {
        #expect(try Kind<Int>.percent(upTo: 90).parse(text) == share)
    }

    @Test("What is no share is refused", arguments: ["", "%", "20", "-1%", "1.5%", "91%", "+5%"])
    func noShare(text: String) {
        #expect(throws: Mismatch.self) { try Kind<Int>.percent(upTo: 90).parse(text) }
    }

    @Test(
        "Offsets go both ways",
        arguments: [
            ("90s", Duration.seconds(90)), ("+90s", .seconds(90)), ("-2h", .seconds(-7200)),
            ("0s", .zero), ("-1d", .seconds(-86_400)),
        ]
    )
    func offsets(text: String, offset: Duration) throws {
        #expect(try Kind<Duration>.offset(upTo: .seconds(86_400)).parse(text) == offset)
    }

    @Test("What is no offset is refused", arguments: ["", "-", "--1s", "1", "-1d1ms", "2d"])
    func noOffset(text: String) {
        #expect(throws: Mismatch.self) {
            try Kind<Duration>.offset(upTo: .seconds(86_400)).parse(text)
        }
    }

    @Test("Sizes and durations are written as people write them")
    func written() {
        #expect(sizeText(4 << 30) == "4GiB")
        #expect(sizeText(1500) == "1500B")
        #expect(durationText(.seconds(604_800)) == "7d")
        #expect(durationText(.milliseconds(1500)) == "1500ms")
    }

    @Test(
        "A slip of the pen is recognised, another word is not",
        arguments: [
            ("max_byte", "max_bytes"), ("maxbytes", "max_bytes"), ("durabilty", "durability"),
            ("mxa_age", "max_age"), ("banana", nil),
        ]
    )
    func nearMisses(written: String, meant: String?) {
        #expect(nearMiss(written, among: ["max_bytes", "max_age", "durability"]) == meant)
    }
}
