import System
import Testing

@testable import Delivery

@Suite struct FailureNoticesTests {
    let start = Moment(nanoseconds: 0)

    @Test("The first failure of a kind is told, repeats once a minute with their number")
    func repeats() {
        var notices = FailureNotices()
        #expect(notices.failed(.network, start) == .init(passedOver: 0))
        #expect(notices.failed(.network, start + .seconds(1)) == nil)
        #expect(notices.failed(.quota, start + .seconds(2)) == .init(passedOver: 0))
        #expect(notices.failed(.network, start + .seconds(59)) == nil)
        #expect(notices.failed(.network, start + .seconds(60)) == .init(passedOver: 2))
        #expect(notices.failed(.network, start + .seconds(61)) == nil)
    }

    @Test("A recovery is told when the failure was, and once")
    func recovery() {
        var notices = FailureNotices()
        #expect(notices.succeeded() == false)
        _ = notices.failed(.network, start)
        #expect(notices.succeeded() == true)
        #expect(notices.succeeded() == false)
        // Up and down within a minute stays quiet.
        #expect(notices.failed(.network, start + .seconds(1)) == nil)
        #expect(notices.succeeded() == false)
    }
}
