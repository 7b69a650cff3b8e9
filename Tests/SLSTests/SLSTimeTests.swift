import System
import Testing

@testable import SLS

@Suite struct SLSTimeTests {
    @Test(
        "Times are written in SLS's two forms",
        arguments: [
            (1_736_843_400, "Tue, 14 Jan 2025 08:30:00 GMT", "20250114T083000Z"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT", "19700101T000000Z"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT", "20240229T235959Z"),
            (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 GMT", "20991231T235959Z"),
        ]
    )
    func written(seconds: Int64, http: String, compact: String) {
        let time = WallTime(seconds: seconds)
        #expect(time.httpDate == http)
        #expect(time.compactISO8601 == compact)
        #expect(time.compactDay == String(compact.prefix(8)))
        #expect(WallTime(httpDate: http) == time)
    }

    @Test(
        "What is no date is not read as one",
        arguments: [
            "", "Tue", "2025-01-14T08:30:00Z", "Tue, 14 Jan 2025 08:30 GMT",
            "Tue, 14 Foo 2025 08:30:00 GMT", "Tue, 14 Jan 2025 24:30:00 GMT",
            "Tue, 32 Jan 2025 08:30:00 GMT", "Tue, 14 Jan 2025 08:30:00 CET",
            "Tue, 14 Jan 99999999999 08:30:00 GMT",
        ]
    )
    func unreadable(text: String) {
        #expect(WallTime(httpDate: text) == nil)
    }
}
