import System

/// How far from its arrival a log may have happened.
package struct TimeWindow: Sendable, Equatable {
    package var past: Duration
    package var future: Duration

    package init(past: Duration, future: Duration = TimeWindow.sls.future) {
        self.past = past
        self.future = future
    }

    /// What SLS takes (facts 1.7): a packet with one log outside is refused as a whole. An hour is
    /// left for the way, and a minute for clocks that differ.
    package static let sls = TimeWindow(
        past: .seconds(7 * 86_400 - 3600),
        future: .seconds(14 * 60)
    )

    /// The seconds that are believed at this moment. A host that does not know the time can call nobody
    /// wrong: SLS will say what it does not take.
    func seconds(around arrival: WallTime) -> ClosedRange<UInt32> {
        guard arrival >= .leastPlausible else { return 0...UInt32.max }
        let earliest = arrival.seconds - past.components.seconds
        let latest = arrival.seconds + future.components.seconds
        return UInt32(clamping: earliest)...UInt32(clamping: max(earliest, latest))
    }
}
