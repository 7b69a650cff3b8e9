import Queue

/// The lanes of one outlet, one in each equal part of the hash range, with one packet at most.
///
/// Packets that must not hold others up are beside the lanes: pieces of refused ones, and those that wait until
/// others were stored. Each has a key of its own.
///
/// What must survive is stored with the packets: which key and number each has. So a free lane has no row
/// anywhere, costs no statement, and is not known to the next life, which begins with new keys. That is safe
/// because a key that no packet has is never used again: nothing else can come under its numbers.
struct OutletLanes {
    private enum Place {
        /// The next packet gets a new key.
        case new
        case free(PacketLane)
        case busy
    }

    private var places: [Place] = []
    private var busyPlaces = 0
    /// The keys that packets have, each with its place. Some have none: of packets that were sealed under
    /// another number of lanes, and those beside. They are forgotten once they are free.
    private var busy: [LaneKey: Int] = [:]
    /// Those that are to have none.
    private var beside: Set<LaneKey> = []
    private static let nowhere = -1
    /// Keys of packets of an earlier life, whose last commits may be lost (a power cut under
    /// `durability: normal`, a restored copy): their next number may have been used for other content.
    private var inherited: Set<LaneKey> = []
    private var turn = 0
    private var generator = SystemRandomNumberGenerator()

    /// Packets that have a lane.
    var busyCount: Int { busy.count }

    /// One of so many lanes is free. Also true when there are none, and packets go without.
    mutating func isOpen(_ count: Int) -> Bool {
        resize(to: count)
        return count == 0 || busyPlaces < count
    }

    /// A lane for a new packet: free ones in turn, one more where none is. Nil when packets go without.
    mutating func take(of count: Int) -> PacketLane? {
        resize(to: count)
        guard count > 0 else { return nil }
        for _ in 0..<count {
            turn = (turn + 1) % count
            switch places[turn] {
            case .busy: continue
            case .free(let lane):
                occupy(turn, with: lane.key)
                return lane
            case .new:
                let key = newKey(inPart: turn)
                occupy(turn, with: key)
                return .new(key)
            }
        }
        return takeOneMore()
    }

    /// A lane that was never used, beside those of the outlet.
    mutating func takeOneMore() -> PacketLane {
        let part = Int.random(in: 0..<max(1, places.count), using: &generator)
        let key = newKey(inPart: part)
        busy[key] = Self.nowhere
        beside.insert(key)
        return .new(key)
    }

    /// The packet waits for others: one of them gets its place, with another key.
    mutating func makePlace(_ lane: PacketLane) {
        guard let index = busy[lane.key] else { return }
        beside.insert(lane.key)
        guard index != Self.nowhere else { return }
        busy[lane.key] = Self.nowhere
        places[index] = .new
        busyPlaces -= 1
    }

    /// A lane that was never used, in the place of one that must not be used any more.
    mutating func replace(_ lane: PacketLane) -> PacketLane {
        beside.remove(lane.key)
        guard let index = busy.removeValue(forKey: lane.key), index != Self.nowhere else {
            return takeOneMore()
        }
        let key = newKey(inPart: index)
        busy[key] = index
        return .new(key)
    }

    /// A packet that is here already has this lane. False when another has it.
    mutating func enter(_ lane: PacketLane, of count: Int) -> Bool {
        resize(to: count)
        guard busy[lane.key] == nil else { return false }
        inherited.insert(lane.key)
        settle(lane.key)
        return true
    }

    /// The packet is stored under its number: the next one is free.
    mutating func acknowledged(_ lane: PacketLane) {
        leave(lane, to: .free(lane.next))
    }

    /// The packet is gone, and may have been sent: it could still arrive, and be stored instead of what comes
    /// under its number. So the key is never used again.
    mutating func abandoned(_ lane: PacketLane) {
        leave(lane, to: .new)
    }

    private mutating func leave(_ lane: PacketLane, to place: Place) {
        let wasInherited = inherited.remove(lane.key) != nil
        beside.remove(lane.key)
        guard let index = busy.removeValue(forKey: lane.key), index != Self.nowhere else { return }
        guard case .busy = places[index] else {
            preconditionFailure("a lane that has a packet is free for another")
        }
        places[index] = wasInherited ? .new : place
        busyPlaces -= 1
    }

    private mutating func newKey(inPart part: Int) -> LaneKey {
        LaneKey(inPart: part, of: max(1, places.count), using: &generator)
    }

    private mutating func occupy(_ index: Int, with key: LaneKey) {
        if case .busy = places[index] { preconditionFailure("two packets in one lane") }
        places[index] = .busy
        busy[key] = index
        busyPlaces += 1
    }

    /// Gives a busy key the place where it lies, if that has no packet.
    private mutating func settle(_ key: LaneKey) {
        busy[key] = Self.nowhere
        guard !places.isEmpty, !beside.contains(key) else { return }
        let index = key.part(of: places.count)
        if case .busy = places[index] { return }
        occupy(index, with: key)
    }

    /// The rules have changed: lanes stay where they lie, and those that are too many go.
    private mutating func resize(to count: Int) {
        guard count != places.count else { return }
        let before = places
        places = Array(repeating: .new, count: count)
        busyPlaces = 0
        for key in busy.keys { settle(key) }
        guard count > 0 else { return }
        for case .free(let lane) in before {
            let index = lane.key.part(of: count)
            if case .new = places[index] { places[index] = .free(lane) }
        }
    }
}
