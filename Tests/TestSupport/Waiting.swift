import System

/// Looks again and again until a condition holds. For conditions whose change signals nothing.
package func eventually(within limit: Duration = .seconds(20), _ condition: () -> Bool) -> Bool {
    let deadline = Moment.now + limit
    guard let clock = try? WakeUp() else { preconditionFailure("no descriptors left") }
    while Moment.now < deadline {
        if condition() { return true }
        clock.wait(timeout: .milliseconds(10))
    }
    return condition()
}
