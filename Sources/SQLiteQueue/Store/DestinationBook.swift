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

    // A destination with one logstore has the logstore's name in its rules, and an operator may
    // have to correct that name. So logs that were stored for another name belong to this one. If
    // several streams thereby get the same key, the later ones come before the earlier ones, as
    // generations do.

    /// The key with the present logstore of its logs.
    func addressed(_ key: StreamKey) -> StreamKey {
        guard let logstore = configuration.destinations[key.destination]?.logstore,
            logstore != key.logstore
        else { return key }
        return StreamKey(destination: key.destination, logstore: logstore, trailer: key.trailer)
    }

    func addressed(_ batches: [Batch]) -> [Batch] {
        guard batches.contains(where: { addressed($0.stream) != $0.stream }) else { return batches }
        return batches.map { batch in
            var batch = batch
            batch.stream = addressed(batch.stream)
            return batch
        }
    }

    /// Destinations whose logs go to another logstore under the new rules. One without logs that
    /// leaves, or that comes back with its logstore, moves nothing.
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
        // Devices choose the names, so their number is bounded. The book removes none, because each
        // one exists.
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
        let all = try database.connection.prepare(
            "SELECT name FROM settings WHERE name BETWEEN 'proven/' AND 'proven0'"
        )
        while try all.step() {
            let name = all.text(0).dropFirst(Self.provenPrefix.count)
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
