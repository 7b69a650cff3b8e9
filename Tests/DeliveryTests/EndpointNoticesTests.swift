import System
import Testing

@testable import Delivery

@Suite struct EndpointNoticesTests {
    @Test("Four lines a minute, and the next one tells how many were passed over")
    func bounded() {
        var notices = EndpointNotices()
        let start = Moment(nanoseconds: 0)
        for _ in 0..<4 { #expect(notices.happened(start) == 0) }
        for _ in 0..<100 { #expect(notices.happened(start + .seconds(59)) == nil) }
        #expect(notices.happened(start + .seconds(60)) == 100)
        #expect(notices.happened(start + .seconds(60)) == 0)
    }
}
