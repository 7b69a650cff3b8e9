extension Section {
    func isList(_ key: String) -> Bool {
        if case .sequence = entries[key]?.value.content { true } else { false }
    }

    func isEmptyList(_ key: String) -> Bool {
        if case .sequence(let items) = entries[key]?.value.content { items.isEmpty } else { false }
    }

    /// A setting of several values: a list in the file, or one text with commas between them.
    mutating func list<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        counts: ClosedRange<Int>,
        _ override: Override = .none
    ) -> [Value]? {
        guard isList(key) else { return value(key, .commaSeparated(kind, counts), override) }
        know(key)
        let fromFile = listFromFile(key, kind, counts)
        guard overridden(key, override) != nil else { return fromFile }
        return overriding(override, .commaSeparated(kind, counts))
    }

    /// The items of a list that can be read, also where others cannot, and without a report: checks
    /// that compare items with other settings so find every mistake in one run.
    func readableItems<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ override: Override = .none
    ) -> [Value] {
        func items(in text: String) -> [Value] {
            text.split(separator: ",").compactMap { try? kind.parse(trimmed($0)) }
        }
        if let (_, text) = overridden(key, override) { return items(in: text) }
        guard let node = entries[key]?.value, !node.isNull else { return [] }
        if case .sequence(let nodes) = node.content {
            return nodes.compactMap { $0.isNull ? nil : try? value(of: $0, kind) }
        }
        let text = Kind<String>(wants: kind.wants) { text throws(Mismatch) in text }
        return (try? value(of: node, text)).map(items) ?? []
    }

    /// A setting that is a list of groups: each is read as one, and reports what is wrong itself.
    mutating func groups(_ key: String, max: Int, _ read: (consuming Section) -> Void) {
        know(key)
        guard let node = entries[key]?.value, !node.isNull else { return }
        guard case .sequence(let items) = node.content else {
            return problem(key, "wants a list of groups of settings, got \(node.kindName)")
        }
        report.reporting(place(of: key), key: keyPath(key), try (1...max).check(items.count))
        for (index, item) in items.prefix(max).enumerated() {
            read(Section(item, path: "\(keyPath(key))[\(index)]", report: report))
        }
    }

    private func listFromFile<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ counts: ClosedRange<Int>
    ) -> [Value]? {
        guard let node = entries[key]?.value, case .sequence(let items) = node.content else {
            return nil
        }
        let place = report.place(node.line)
        let count: Void? = report.reporting(place, key: keyPath(key), try counts.check(items.count))
        // All of them, so that everything wrong is said at once.
        let taken = items.prefix(counts.upperBound)
        for item in taken where item.isNull {
            report.add(line: item.line, key: keyPath(key), "wants \(kind.wants), got nothing")
        }
        let values = taken.map { parsed($0, key, kind) }
        return count == nil || values.contains { $0 == nil } ? nil : values.compactMap(\.self)
    }
}
