/// The places that a destination's logstores have in the queue, as they were a moment ago: a request that names several
/// takes them one after the other, to know which have none.
///
/// Devices name the logstores of a destination that takes any, so they can invent some. What is for a logstore that
/// does not exist stays until it is too old, and would keep the place of one that does. So up to half of the places are
/// kept for logstores that are known to exist, as many as there are.
struct LogstorePlaces: Equatable {
    /// Those that have logs in the queue, and those that took a packet once.
    private let busy: Set<String>
    private let proven: Set<String>
    private var taken: Set<String> = []
    private var left: Int
    private var unprovenLeft: Int

    init(busy: Set<String>, proven: Set<String>, most: Int) {
        (self.busy, self.proven) = (busy, proven)
        left = most - busy.count
        let unprovenMax = most - min(most / 2, proven.count)
        unprovenLeft = unprovenMax - busy.count { !proven.contains($0) }
    }

    /// Whether there is one for any logstore.
    var areOpen: Bool { left > 0 && unprovenLeft > 0 }

    func has(_ logstore: String) -> Bool {
        busy.contains(logstore) || taken.contains(logstore)
            || left > 0 && (unprovenLeft > 0 || proven.contains(logstore))
    }

    /// Whether logs may come for the logstore, too; it has its place then.
    mutating func take(_ logstore: String) -> Bool {
        guard has(logstore) else { return false }
        guard !busy.contains(logstore), taken.insert(logstore).inserted else { return true }
        left -= 1
        if !proven.contains(logstore) { unprovenLeft -= 1 }
        return true
    }
}
