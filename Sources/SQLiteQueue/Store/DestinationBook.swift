import Logs
import Queue
import SQLite
import System

/// The destinations that have content in the queue, with their outlets.
final class DestinationBook: StorePart {
    let context: StoreContext
    let dirty = DirtyLists()
    private var byName: [String: QueuedDestination] = [:]
    /// Outlets that came or went since the last look.
    private var changedOutlets: Set<Outlet> = []

    init(_ context: StoreContext) {
        self.context = context
    }

    func named(_ name: String) -> QueuedDestination {
        if let known = byName[name] { return known }
        let new = QueuedDestination(
            name: name,
            rules: configuration.rules(name),
            ledger: Ledger(),
            dirty
        )
        byName[name] = new
        new.note()
        return new
    }

    func outlet(_ name: Outlet) -> QueuedOutlet {
        let destination = named(name.destination)
        if let known = destination.outlets[name.logstore] { return known }
        let new = QueuedOutlet(name, of: destination)
        destination.outlets[name.logstore] = new
        changedOutlets.insert(name)
        return new
    }

    subscript(name: String) -> QueuedDestination? { byName[name] }

    var all: some Collection<QueuedDestination> { byName.values }
    var names: some Collection<String> { byName.keys }

    func knows(_ name: Outlet) -> Bool {
        byName[name.destination]?.outlets[name.logstore] != nil
    }

    /// Removes a stream of the outlet, and with its last stream the outlet.
    func leave(_ outlet: QueuedOutlet) {
        outlet.streamCount -= 1
        guard outlet.streamCount == 0 else { return }
        outlet.destination.outlets[outlet.name.logstore] = nil
        changedOutlets.insert(outlet.name)
    }

    /// Notes that delivery asks for packets of the outlet.
    func noteDemand(for name: Outlet) {
        guard let destination = byName[name.destination] else { return }
        destination.note()
        destination.outlets[name.logstore]?.note()
    }

    /// Returns the outlets that came or went since the last call.
    func takeChangedOutlets() -> Set<Outlet> {
        defer { changedOutlets.removeAll(keepingCapacity: true) }
        return changedOutlets
    }

    func noteChanged(_ outlets: Set<Outlet>) { changedOutlets.formUnion(outlets) }

    /// Applies new rules.
    func applyRules() {
        for destination in byName.values {
            destination.rules = configuration.rules(destination.name)
        }
    }

    // MARK: - Addresses

    // Operators may correct the logstore's name of a destination that has only one. So logs that
    // were stored for another name belong to this one. Of streams that thereby get the same key,
    // the later ones come before the earlier ones, as generations do.

    /// The key with the present logstore of its logs.
    func addressed(_ key: StreamKey) -> StreamKey {
        guard let logstore = configuration.destinations[key.destination]?.logstore,
            logstore != key.logstore
        else { return key }
        return StreamKey(destination: key.destination, logstore: logstore, trailer: key.trailer)
    }

    private func isElsewhere(_ key: StreamKey) -> Bool {
        named(key.destination).rules.logstore.map { $0 != key.logstore } ?? false
    }

    func addressed(_ batches: [Batch]) -> [Batch] {
        let span = batches.span
        guard span.indices.contains(where: { isElsewhere(span[$0].stream) }) else { return batches }
        return batches.map { batch in
            var batch = batch
            batch.stream = addressed(batch.stream)
            return batch
        }
    }

    /// Destinations whose logs go to another logstore under the new rules. One that leaves without
    /// logs, or comes back with its logstore, moves nothing.
    func moved(by new: QueueConfiguration) -> Set<String> {
        let moved = byName.values.filter { destination in
            let name = destination.name
            guard configuration.rules(name).logstore != new.rules(name).logstore else {
                return false
            }
            guard new.destinations[name] != nil else { return destination.ledger.queued > 0 }
            guard configuration.destinations[name] == nil else { return true }
            // It comes back. Its idle streams are where they were when it left.
            let logstore = new.rules(name).logstore
            return destination.outlets.keys.contains { $0 != logstore }
        }
        return Set(moved.map(\.name))
    }

    // MARK: - Logstores that exist

    /// Records that a logstore took a packet, so that a start still knows that the logstore exists.
    func prove(_ outlet: QueuedOutlet) throws(SQLiteError) {
        let destination = outlet.destination
        // Devices choose the names, so their number is bounded. None is removed: each exists.
        guard destination.rules.logstore == nil,
            destination.logstores.proven.count < Self.provenMax,
            !destination.logstores.proven.contains(outlet.name.logstore)
        else { return }
        destination.change(of: .proven(outlet.name.logstore))
        try database.write()
        try database.settings.save(
            1,
            as: Self.provenPrefix + "\(destination.name)/\(outlet.name.logstore)"
        )
    }

    private static let provenMax = 10_000
    private static let provenPrefix = "proven/"

    func recoverProven() throws(SQLiteError) {
        for (name, _) in try SettingTable.values(Self.provenPrefix, in: database.connection) {
            guard let slash = name.lastIndex(of: "/") else { continue }
            named(String(name[..<slash]))
                .change(of: .proven(String(name[name.index(after: slash)...])))
        }
    }
}

extension QueuedDestination {
    /// True if there are places for logs of all these logstores.
    func hasPlaces(for new: Set<String>) -> Bool {
        var places = LogstorePlaces()
        return new.allSatisfy { places.take($0, in: logstores) }
    }

    /// True if there are more places than logstores that a request can name.
    var hasAmplePlaces: Bool {
        rules.logstoresMax / 2 - logstores.busy.count >= LogLimits().packages
    }
}

/// A destination's part of the queue: its ledger, its rules and its outlets.
final class QueuedDestination {
    let name: String
    private let dirty: DirtyLists
    var rules: DestinationRules {
        didSet {
            change(of: .most(rules.logstoresMax))
            note()
        }
    }
    private(set) var ledger: Ledger { didSet { note() } }
    /// True if the ledger's row on disk is out of date.
    private(set) var isLedgerStale = false

    /// The bytes that came and left since the last look.
    var volumes = Volumes() { didSet { note() } }

    /// The outlets with known streams, by logstore.
    var outlets: [String: QueuedOutlet] = [:]
    /// Packets that are sealed and not acknowledged.
    var packetCount = 0 { didSet { note() } }
    /// The bytes in its bound. `waitingBytes` is the part of waiting rows.
    var bytes = 0 { didSet { note() } }
    /// Its logs in rows and its dead letters, counted when they come and go. The ledger must agree.
    var queuedLogs = 0
    var deadLetters = 0
    var deadBytes = 0 { didSet { note() } }
    var waitingBytes = 0 { didSet { note() } }
    /// The most that batches of the current transaction can need.
    var stagedBytes = 0 { didSet { note() } }
    /// Set while an overflow drops rows.
    var oldestFirst: OldestFirst?
    private var sharedLogstores: SharedLogstores
    /// True if it is in the list of changed destinations.
    private var isNoted = false

    init(name: String, rules: DestinationRules, ledger: Ledger, _ dirty: DirtyLists) {
        self.name = name
        self.rules = rules
        self.ledger = ledger
        self.dirty = dirty
        sharedLogstores = SharedLogstores(most: rules.logstoresMax)
    }

    /// Notes a difference from the published state.
    func note() {
        guard !isNoted else { return }
        isNoted = true
        dirty.note(self)
    }

    func note(_ outlet: QueuedOutlet) { dirty.note(outlet) }

    /// Called after publishing. Returns false if it stays listed: its ledger is not on the disk.
    func settleChange() -> Bool {
        isNoted = isLedgerStale
        return !isNoted
    }

    func change(of change: LogstoreBook.Change) {
        sharedLogstores.apply(change)
        note()
    }

    var logstores: LogstoreBook { sharedLogstores.book }
    var publishedLogstores: PublishedLogstores { sharedLogstores.published }

    func publishLogstores() { sharedLogstores.publish() }

    var limits: PacketLimits { rules.packet }

    // MARK: - The ledger

    func change(_ body: (inout Ledger) -> Void) {
        body(&ledger)
        isLedgerStale = true
    }

    enum Departure {
        case delivered, expired, discarded
    }

    /// Counts queued logs that leave, and their bytes before compression.
    func count(_ logs: Int, _ raw: Int, _ departure: Departure) {
        guard logs != 0 || raw != 0 else { return }
        ledger.queued -= Int64(logs)
        isLedgerStale = true
        switch departure {
        case .delivered:
            ledger.delivered += Int64(logs)
            volumes.delivered += raw
        case .expired:
            ledger.expired += Int64(logs)
            volumes.expired += raw
        case .discarded:
            ledger.discarded += Int64(logs)
            volumes.discarded += raw
        }
    }

    /// Takes the ledger that was read at a start.
    func recover(_ stored: Ledger) { ledger = stored }

    /// Called when the current transaction has the ledger.
    func ledgerSaved() { isLedgerStale = false }
}

/// The destinations and outlets that the current transaction touched. A turn looks only at these.
/// Every change of one adds it to its list.
final class DirtyLists {
    /// Unowned: a store keeps its destinations as long as it exists.
    private struct Changed {
        unowned let destination: QueuedDestination
    }

    private var list: [Changed] = []
    private var outlets: [QueuedOutlet] = []
    private var ripening = RipeningOutlets()
    /// True if nothing was published yet, or if the answer to all batches may have changed.
    var isUnpublished = true

    // MARK: - Destinations

    func note(_ destination: QueuedDestination) {
        list.append(Changed(destination: destination))
    }

    /// Destinations that changed since they were published.
    var changed: [QueuedDestination] { list.map(\.destination) }

    /// Clears the list after publishing. A destination whose ledger is not on the disk stays in it.
    func published() {
        isUnpublished = false
        list.removeAll { $0.destination.settleChange() }
    }

    // MARK: - Outlets

    func note(_ outlet: QueuedOutlet) {
        outlets.append(outlet)
    }

    /// Returns outlets that may have packets to hand over: something happened to them, or a stream
    /// reached its age. The caller returns each with `looked`, and notices its changes until then.
    func takeOutlets(_ now: WallTime) -> [QueuedOutlet] {
        while let outlet = ripening.popDue(now) { outlet.note() }
        defer { outlets.removeAll(keepingCapacity: true) }
        return outlets
    }

    /// Returns an outlet that has nothing to give until `due`, unless something happens to it.
    func looked(_ outlet: QueuedOutlet, due: WallTime?) {
        outlet.isNoted = false
        if let due { ripening.add(outlet, at: due) }
    }

    /// The time at which the next outlet is due.
    var nextDue: WallTime? { ripening.next }
}

/// Outlets by the time at which their next stream reaches its age. An outlet whose time has moved
/// forward has a second, later entry, which then finds nothing.
private struct RipeningOutlets {
    private var entries = PriorityQueue<WallTime, QueuedOutlet>()

    var next: WallTime? { entries.nextKey }

    mutating func add(_ outlet: QueuedOutlet, at due: WallTime) {
        if let filed = outlet.filedDue, filed <= due { return }
        outlet.filedDue = due
        entries.add(outlet, at: due)
    }

    mutating func popDue(_ now: WallTime) -> QueuedOutlet? {
        guard let (due, outlet) = entries.takeFirst(upTo: now) else { return nil }
        if outlet.filedDue == due { outlet.filedDue = nil }
        return outlet
    }
}
