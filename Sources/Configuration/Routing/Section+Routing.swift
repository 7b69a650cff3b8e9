import Routing

extension Section {
    /// What a filter or a route matches: one pattern or a list of them. A comma belongs to a
    /// pattern.
    mutating func tagPatterns(_ key: String) -> [TagPattern]? {
        guard !isList(key) else { return list(key, .tagPattern, counts: 1...64) }
        return value(key, .tagPattern).map { [$0] }
    }

    /// Values under names of fields, in the order of the file; nil where something is wrong, which
    /// is reported.
    mutating func fields<Value>(
        _ key: String,
        named name: Kind<String>,
        _ kind: Kind<Value>
    ) -> [(name: String, value: Value)]? {
        var group = section(key)
        guard !report.hasProblem(with: group.path) else { return nil }
        let counts = 1...FilterStep.fieldsMax
        guard counts.contains(group.names.count) else {
            problem(
                key,
                group.names.isEmpty
                    ? "names no field; give at least one"
                    : "has \(group.names.count) fields; give at most \(counts.upperBound)"
            )
            return nil
        }
        var pairs: [(name: String, value: Value)] = []
        var areRight = true
        for field in group.names {
            let (place, path) = (group.place(of: field), group.keyPath(field))
            let name = report.reporting(place, key: path, try name.parse(field))
            if !group.has(field) {
                group.problem(field, "has no value; write \"\" for an empty text")
            }
            if let value = group.value(field, kind), name != nil {
                pairs.append((field, value))
            } else {
                areRight = false
            }
        }
        return areRight ? pairs : nil
    }

    /// Reports a key that is missing, unless the whole group is wrong.
    func require(_ key: String, _ remedy: String) {
        guard !has(key), !names.contains(key), !report.hasProblem(with: path) else { return }
        problem(key, "is missing; \(remedy)")
    }

    /// Reports names of destinations that do not exist.
    func refuseUnknownDestinations(_ key: String) {
        let known = report.destinationNames
        for destination in readableItems(key, .destinationName)
        where !known.contains(destination) {
            let meant = nearMiss(destination, among: known.sorted())
            problem(
                key,
                "there is no destination \(quoted(destination))"
                    + (meant.map { "; did you mean \($0)?" } ?? "")
            )
        }
    }
}

extension Kind<String> {
    static var destinationName: Kind { .text(upTo: 64) }
}
