import Logs

extension QueuedDestination {
    /// Whether logs for these logstores may come.
    func hasPlaces(for new: Set<String>) -> Bool {
        var places = places
        return new.allSatisfy { places.take($0) }
    }

    /// Computed when it is asked for after a logstore came or went.
    var places: LogstorePlaces {
        if let knownPlaces { return knownPlaces }
        let (busy, proven) = (busyLogstores, provenLogstores)
        let places = LogstorePlaces(busy: busy, proven: proven, most: rules.logstoresMax)
        knownPlaces = places
        return places
    }

    /// Whether there are more than a request can name, whatever it names.
    var hasAmplePlaces: Bool {
        rules.logstoresMax / 2 - busyLogstores.count >= LogLimits().packages
    }
}

extension OpenStore {
    /// A logstore took a packet. Remembered, so that a start does not forget who exists.
    func prove(_ outlet: QueuedOutlet) throws(SQLiteError) {
        let destination = outlet.destination
        // Devices name them, so they are bounded. None is forgotten: it exists.
        guard destination.rules.logstore == nil,
            destination.provenLogstores.count < Self.provenMax,
            destination.provenLogstores.insert(outlet.name.logstore).inserted
        else { return }
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
            destination(String(name[..<slash])).provenLogstores
                .insert(String(name[name.index(after: slash)...]))
        }
    }
}
