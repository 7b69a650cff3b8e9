// Devices name the logstores of a destination that takes any, so they can invent some. What is for a logstore that
// does not exist stays until it is too old, and would keep the place of one that does.
extension QueuedDestination {
    /// Whether logs for these logstores, which have none in the queue, may come.
    func hasPlaces(for new: Set<String>) -> Bool {
        guard busyLogstores.count + new.count <= rules.logstoresMax else { return false }
        let unproven = new.subtracting(provenLogstores).count
        return unproven == 0 || unprovenCount + unproven <= unprovenMax
    }

    /// The only logstores that logs may come for now; nil where any may.
    var onlyLogstores: Set<String>? {
        if let known = knownOnlyLogstores { return known }
        let found = findOnlyLogstores()
        knownOnlyLogstores = .some(found)
        return found
    }

    private func findOnlyLogstores() -> Set<String>? {
        if busyLogstores.count >= rules.logstoresMax { return busyLogstores }
        guard busyLogstores.count >= unprovenMax, unprovenCount >= unprovenMax else { return nil }
        return busyLogstores.union(provenLogstores)
    }

    /// Up to half of the places are kept for logstores that are known to exist, as many as there are.
    private var unprovenMax: Int {
        rules.logstoresMax - min(rules.logstoresMax / 2, provenLogstores.count)
    }

    private var unprovenCount: Int { busyLogstores.count { !provenLogstores.contains($0) } }
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
