import Logs
import Queue
import SQLite

extension QueuedDestination {
    /// Whether logs for these logstores may come.
    func hasPlaces(for new: Set<String>) -> Bool {
        var places = LogstorePlaces()
        return new.allSatisfy { places.take($0, in: logstores) }
    }

    /// Whether there are more than a request can name, whatever it names.
    var hasAmplePlaces: Bool {
        rules.logstoresMax / 2 - logstores.busy.count >= LogLimits().packages
    }
}

extension OpenStore {
    /// A logstore took a packet. Remembered, so that a start does not forget who exists.
    func prove(_ outlet: QueuedOutlet) throws(SQLiteError) {
        let destination = outlet.destination
        // Devices name them, so they are bounded. None is forgotten: it exists.
        guard destination.rules.logstore == nil,
            destination.logstores.proven.count < Self.provenMax,
            !destination.logstores.proven.contains(outlet.name.logstore)
        else { return }
        destination.change(of: .proven(outlet.name.logstore))
        try database.write()
        try database.save(1, as: Self.provenPrefix + "\(destination.name)/\(outlet.name.logstore)")
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
            destination(String(name[..<slash]))
                .change(of: .proven(String(name[name.index(after: slash)...])))
        }
    }
}
