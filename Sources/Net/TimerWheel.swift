package import System

/// Deadlines of many slots, at most one each, in buckets by time.
///
/// Arming and disarming cost the same for any number of timers and allocate nothing: a timer is
/// named by its owner's slot and linked into its bucket's list by index. A bucket holds every
/// deadline that falls on it in any turn of the wheel, and each turn looks at all of them once.
package struct TimerWheel {
    private struct Node {
        var deadline: Int64 = 0
        var next: Int32 = Node.none
        var previous: Int32 = Node.none
        var bucket: Int32 = Node.none

        static let none: Int32 = -1
    }

    private struct Bucket {
        var first: Int32 = Node.none
        /// A lower bound of the bucket's deadlines. It may be too low after a timer is disarmed.
        var earliest: Int64 = .max
    }

    private let tick: Int64
    private var nodes: [Node] = []
    private var buckets: [Bucket]
    /// Buckets up to this tick have been swept.
    private var sweptTick: Int64
    /// A lower bound of all deadlines.
    private var nearestDeadline: Int64 = .max

    /// The tick sets the precision: a timer fires up to one tick late, never early.
    package init(now: Moment, tick: Duration = .milliseconds(8), buckets count: Int = 1024) {
        let nanoseconds = (Moment(nanoseconds: 0) + tick).nanoseconds
        precondition(nanoseconds > 0 && count > 0)
        self.tick = nanoseconds
        buckets = Array(repeating: Bucket(), count: count)
        sweptTick = now.nanoseconds / nanoseconds
    }

    /// The latest time for the next look at the wheel; nil when no timer is armed.
    package var nearest: Moment? {
        nearestDeadline == .max ? nil : Moment(nanoseconds: nearestDeadline)
    }

    package func isArmed(_ slot: Int) -> Bool {
        slot < nodes.count && nodes[slot].bucket != Node.none
    }

    /// Sets the slot's deadline and replaces an earlier one.
    package mutating func arm(_ slot: Int, at moment: Moment) {
        disarm(slot)
        while nodes.count <= slot { nodes.append(Node()) }
        // A deadline in the past goes into the next bucket to be swept.
        let deadlineTick = max((moment.nanoseconds + tick - 1) / tick, sweptTick + 1)
        let deadline = deadlineTick * tick
        let bucket = Int(deadlineTick % Int64(buckets.count))
        let first = buckets[bucket].first
        nodes[slot] = Node(deadline: deadline, next: first, bucket: Int32(bucket))
        if first != Node.none { nodes[Int(first)].previous = Int32(slot) }
        buckets[bucket].first = Int32(slot)
        buckets[bucket].earliest = min(buckets[bucket].earliest, deadline)
        nearestDeadline = min(nearestDeadline, deadline)
    }

    package mutating func disarm(_ slot: Int) {
        guard isArmed(slot) else { return }
        let node = nodes[slot]
        if node.next != Node.none { nodes[Int(node.next)].previous = node.previous }
        if node.previous != Node.none {
            nodes[Int(node.previous)].next = node.next
        } else {
            buckets[Int(node.bucket)].first = node.next
            if node.next == Node.none { buckets[Int(node.bucket)].earliest = .max }
        }
        nodes[slot] = Node()
    }

    /// Disarms every due timer and adds its slot to `due`.
    package mutating func takeDue(at now: Moment, into due: inout [Int]) {
        guard now.nanoseconds >= nearestDeadline else { return }
        let nowTick = now.nanoseconds / tick
        let stale = min(nowTick - sweptTick, Int64(buckets.count))
        var sweep = nowTick - stale
        while sweep < nowTick {
            sweep += 1
            takeDue(fromBucket: Int(sweep % Int64(buckets.count)), at: now.nanoseconds, into: &due)
        }
        sweptTick = max(sweptTick, nowTick)
        // Recomputed here once, after a deadline: the loop reads the nearest deadline far more
        // often than one passes.
        nearestDeadline = buckets.reduce(.max) { min($0, $1.earliest) }
    }

    private mutating func takeDue(fromBucket bucket: Int, at now: Int64, into due: inout [Int]) {
        guard buckets[bucket].earliest <= now else { return }
        var earliest = Int64.max
        var current = buckets[bucket].first
        while current != Node.none {
            let slot = Int(current)
            current = nodes[slot].next
            if nodes[slot].deadline <= now {
                due.append(slot)
                disarm(slot)
            } else {
                earliest = min(earliest, nodes[slot].deadline)
            }
        }
        buckets[bucket].earliest = earliest
    }
}
