import Synchronization
import System

/// How wrong destinations know the host's clock to be, for ingest, which measures logs by that
/// clock.
package final class ClockOffsets: Sendable {
    /// Mostly zero, and then the lock is not taken.
    private let count = Atomic<Int>(0)
    private let known = Locked<[String: Known]>([:])

    private static let noticeable = Duration.seconds(60)

    /// The host's clock minus the one that never jumps: it changes when the host's is set.
    private let lead: @Sendable () -> Int64

    package init(
        lead: @escaping @Sendable () -> Int64 = {
            WallTime.now.nanoseconds &- Moment.now.nanoseconds
        }
    ) {
        self.lead = lead
    }

    private struct Known {
        let offset: Duration
        /// The lead when the offset was learned.
        let lead: Int64
    }

    /// SLS's clock minus the host's where that is known to be much, else nothing. The host's may
    /// have been set since.
    package func offset(for destination: String) -> Duration {
        guard count.load(ordering: .relaxed) > 0,
            let known = known.withLock({ $0[destination] })
        else { return .zero }
        let step = Duration.nanoseconds(lead() &- known.lead)
        guard step.magnitude > Self.noticeable else { return known.offset }
        let rest = known.offset - step
        return rest.magnitude > Self.noticeable ? rest : .zero
    }

    /// The largest of all, for those that ask no destination.
    package var largest: Duration {
        guard count.load(ordering: .relaxed) > 0 else { return .zero }
        let names = known.withLock { Array($0.keys) }
        return names.map(offset).max { $0.magnitude < $1.magnitude } ?? .zero
    }

    /// The delivery thread's alone.
    func set(_ offset: Duration?, for destination: String) {
        let number = known.withLock { known in
            known[destination] = offset.map { Known(offset: $0, lead: lead()) }
            return known.count
        }
        count.store(number, ordering: .relaxed)
    }
}

extension Duration {
    fileprivate var magnitude: Duration { self < .zero ? .zero - self : self }
}
