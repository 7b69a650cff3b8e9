/// How long one notice is tried.
package struct WebhookPace: Sendable {
    var first: Duration = .seconds(1)
    var longest: Duration = .seconds(60)
    /// What is older is given up after the attempt at hand. A receiver that is redeployed comes back within it.
    var patience: Duration = .seconds(600)

    /// Somewhere in the upper half of a window that grows, so that many gateways do not come back together.
    func wait(after failures: Int, random: Double = .random(in: 0...1)) -> Duration {
        let window = min(longest, first * (1 << min(max(failures, 1) - 1, 20)))
        return window / 2 + window / 2 * random
    }
}
