import Net
import System

/// The order of a host's addresses: the fastest first, those that failed a moment ago last.
struct AddressRanking {
    private struct Record {
        var connectTime: Duration?
        var failures = 0
        /// It is not tried before then if there is another.
        var restsUntil: Moment?
    }

    static let firstRest: Duration = .seconds(30)
    static let longestRest: Duration = .seconds(600)

    /// In the resolver's order.
    private(set) var addresses: [IPAddress] = []
    private var records: [IPAddress: Record] = [:]
    /// The first of the last ranking.
    private var current: IPAddress?

    /// Other addresses from now on. What is known of those that stay is kept.
    mutating func use(_ new: [IPAddress]) {
        addresses = new
        records = records.filter { new.contains($0.key) }
    }

    mutating func connected(_ address: IPAddress, in time: Duration?) {
        guard addresses.contains(address) else { return }
        var record = records[address] ?? Record()
        (record.failures, record.restsUntil) = (0, nil)
        if let time { record.connectTime = record.connectTime.map { ($0 * 3 + time) / 4 } ?? time }
        records[address] = record
    }

    mutating func failed(_ address: IPAddress, _ now: Moment) {
        guard addresses.contains(address) else { return }
        var record = records[address] ?? Record()
        let rest = Self.firstRest * (1 << min(record.failures, 5))
        record.failures += 1
        record.restsUntil = now + min(rest, Self.longestRest)
        records[address] = record
    }

    func connectTime(of address: IPAddress) -> Duration? { records[address]?.connectTime }

    func rests(_ address: IPAddress, _ now: Moment) -> Bool {
        records[address]?.restsUntil.map { $0 > now } ?? false
    }

    func hasHealthy(_ now: Moment) -> Bool { addresses.contains { !rests($0, now) } }

    /// True if an address has rested enough since the last call.
    mutating func takeRecovery(_ now: Moment) -> Bool {
        var hasRecovered = false
        for (address, record) in records {
            guard let until = record.restsUntil, until <= now else { continue }
            records[address]?.restsUntil = nil
            hasRecovered = true
        }
        return hasRecovered
    }

    /// When the next address has rested enough.
    func nextRecovery(after now: Moment) -> Moment? {
        records.values.compactMap(\.restsUntil).filter { $0 > now }.min()
    }

    /// Those that are not measured yet come behind those that are. The first stays first until it
    /// fails, or another is clearly faster: each change costs new connections.
    mutating func ranked(_ now: Moment) -> [IPAddress] {
        let unknown = Duration.seconds(1 << 20)
        let never = Moment(nanoseconds: 0)
        var ranked = addresses.enumerated().map { place, address in
            let rest = rests(address, now) ? records[address]?.restsUntil ?? never : never
            return (rest, records[address]?.connectTime ?? unknown, place, address)
        }.sorted { ($0.0, $0.1, $0.2) < ($1.0, $1.1, $1.2) }.map(\.3)
        if let current, let place = ranked.firstIndex(of: current), place > 0,
            !rests(current, now), let own = connectTime(of: current),
            let best = connectTime(of: ranked[0]), own < best * 3 / 2 + .milliseconds(5)
        {
            ranked.remove(at: place)
            ranked.insert(current, at: 0)
        }
        current = ranked.first
        return ranked
    }
}
