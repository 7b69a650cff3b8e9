import Testing

@testable import Delivery

@Suite struct BackoffTests {
    @Test(
        "The window doubles from 100 ms up to a minute",
        arguments: [
            (0, 100), (1, 100), (2, 200), (3, 400), (10, 51_200), (11, 60_000), (1000, 60_000),
        ]
    )
    func window(failures: Int, milliseconds: Int) {
        #expect(Backoff.retry.window(after: failures) == .milliseconds(milliseconds))
    }

    @Test("The wait is anywhere in the window", arguments: 1...15)
    func jitter(failures: Int) {
        let window = Backoff.retry.window(after: failures)
        #expect(Backoff.retry.wait(after: failures, random: 0) == .zero)
        #expect(Backoff.retry.wait(after: failures, random: 0.5) == window * 0.5)
        #expect(Backoff.retry.wait(after: failures, random: 1) == window)
    }
}
