import Net
import System

/// One host's way along its resolvers, until one has addresses. If the host has no address yet, a
/// resolver that does not answer soon gets company from the next; an answer of an earlier one still
/// wins when it comes.
final class Flight {
    enum Outcome {
        case addresses(HostAnswer)
        /// The resolver says that there are none, for so long.
        case negative(Duration)
        case failed
    }

    let entry: HostEntry
    /// With the system at the end.
    let chain: [String]
    /// When the next resolver is asked although another one was.
    private(set) var nextStart: Moment?

    private let patience: Duration
    private var next = 0
    private var running: Set<Int> = []
    /// The place of the resolver whose answer was taken.
    private var taken: Int?
    private var negatives: [Duration] = []

    init(_ entry: HostEntry, patience: Duration, _ now: Moment) {
        self.entry = entry
        self.patience = patience
        chain = entry.ask(now)
    }

    var isOver: Bool { running.isEmpty && (taken != nil || next == chain.count) }

    /// No answer was taken yet.
    var isOpen: Bool { taken == nil }

    /// The place of a resolver to ask now.
    func takeStart(_ now: Moment) -> Int? {
        guard taken == nil, next < chain.count else { return nil }
        guard running.isEmpty || nextStart.map({ $0 <= now }) ?? false else { return nil }
        let place = next
        next += 1
        running.insert(place)
        let hasCompany = entry.answer == nil && next < chain.count
        nextStart = hasCompany ? now + patience : nil
        return place
    }

    /// Returns addresses to use.
    func ended(_ place: Int, _ outcome: Outcome) -> (HostAnswer, resolver: String)? {
        guard running.remove(place) != nil else { return nil }
        switch outcome {
        case .addresses(let answer):
            guard taken.map({ place < $0 }) ?? true else { return nil }
            taken = place
            nextStart = nil
            return (answer, chain[place])
        case .negative(let time):
            negatives.append(time)
            return nil
        case .failed: return nil
        }
    }

    /// How long nobody needs to ask again: every resolver but the system says so.
    var negativePause: Duration? {
        let asked = chain.filter { $0 != NameSettings.system }
        guard !asked.isEmpty, negatives.count == asked.count, let least = negatives.min() else {
            return nil
        }
        return min(max(least, NameSettings.negativeMin), NameSettings.negativeMax)
    }
}
