import System

/// Looks again and again until a condition holds; false when it does not within the limit. This is
/// for conditions whose change signals nothing; others have a `SharedValue`.
package func eventually<Failure: Error>(
    within limit: Duration = .seconds(40),
    _ condition: () throws(Failure) -> Bool
) throws(Failure) -> Bool {
    let deadline = Moment.now + limit
    let clock = WakeUp.made()
    var pause = Duration.milliseconds(1)
    while Moment.now < deadline {
        if try condition() { return true }
        clock.wait(timeout: pause)
        pause = min(pause * 2, .milliseconds(10))
    }
    return try condition()
}
