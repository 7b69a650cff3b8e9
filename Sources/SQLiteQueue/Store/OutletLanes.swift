import Queue

/// The lanes of one outlet. Each equal part of the hash range has one lane, and a lane has at most
/// one packet.
///
/// Pieces of refused packets, and packets that wait until others are stored, must not hold up
/// others: they get additional lanes, each with a key of its own.
///
/// The packets' rows store all that must survive: the key and number of each packet. A free lane
/// has no row and costs no statement. After a restart the outlet begins with new keys. That is safe
/// because a key that no packet has is never used again, so nothing else can come under its
/// numbers.
struct OutletLanes {
    private enum Place {
        /// The next packet gets a new key.
        case new
        case free(PacketLane)
        case busy
    }

    private var places: [Place] = []
    private var busyPlaces = 0
    /// The keys that packets have, each with its place. Additional keys, and those sealed under
    /// another number of lanes, have no place and are dropped when they are free.
    private var busy: [LaneKey: Int] = [:]
    private var overflow: Set<LaneKey> = []
    private static let noLane = -1
    /// Keys of packets from before the last start. The last commits may be lost (a power cut under
    /// `durability: normal`, a restored copy), so their next number may have been used already.
    private var inherited: Set<LaneKey> = []
    private var turn = 0
    private var generator = SystemRandomNumberGenerator()

    var busyCount: Int { busy.count }

    /// True if a lane is free. Also true for 0 lanes: then packets have none.
    var isOpen: Bool { places.isEmpty || busyPlaces < places.count }

    /// A lane for a new packet. Free lanes take turns, then an additional one. Nil for 0 lanes.
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

    mutating func takeOneMore() -> PacketLane {
        let part = Int.random(in: 0..<max(1, places.count), using: &generator)
        let key = newKey(inPart: part)
        busy[key] = Self.noLane
        overflow.insert(key)
        return .new(key)
    }

    /// Frees the place of a packet that waits for others. Another packet gets it with another key.
    mutating func makePlace(_ lane: PacketLane) {
        guard let index = busy[lane.key] else { return }
        overflow.insert(lane.key)
        guard index != Self.noLane else { return }
        busy[lane.key] = Self.noLane
        places[index] = .new
        busyPlaces -= 1
    }

    /// A new lane in the place of a lane that must not be used any more.
    mutating func replace(_ lane: PacketLane) -> PacketLane {
        overflow.remove(lane.key)
        guard let index = busy.removeValue(forKey: lane.key), index != Self.noLane else {
            return takeOneMore()
        }
        let key = newKey(inPart: index)
        busy[key] = index
        return .new(key)
    }

    /// Enters the lane of an existing packet. Returns false if another packet has the lane.
    mutating func enter(_ lane: PacketLane, of count: Int) -> Bool {
        resize(to: count)
        guard busy[lane.key] == nil else { return false }
        inherited.insert(lane.key)
        settle(lane.key)
        return true
    }

    /// Frees the lane with its next number: the packet is stored under this number.
    mutating func acknowledged(_ lane: PacketLane) {
        leave(lane, to: .free(lane.next))
    }

    /// Drops the lane of a removed packet. The packet may still arrive, and SLS would store it
    /// instead of the next packet with its number. So the key is never used again.
    mutating func abandoned(_ lane: PacketLane) {
        leave(lane, to: .new)
    }

    private mutating func leave(_ lane: PacketLane, to place: Place) {
        let wasInherited = inherited.remove(lane.key) != nil
        overflow.remove(lane.key)
        guard let index = busy.removeValue(forKey: lane.key), index != Self.noLane else { return }
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

    /// Gives a busy key the place of its part of the range, if that place has no packet.
    private mutating func settle(_ key: LaneKey) {
        busy[key] = Self.noLane
        guard !places.isEmpty, !overflow.contains(key) else { return }
        let index = key.part(of: places.count)
        if case .busy = places[index] { return }
        occupy(index, with: key)
    }

    /// Adapts to a new number of lanes. Lanes keep their places, and surplus lanes are dropped.
    mutating func resize(to count: Int) {
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
