import Routing

/// A group of settings being read. It remembers the keys that were asked for, and refuses the
/// others.
package struct Section: ~Copyable {
    let path: String
    let report: ProblemReport
    /// Whether the file has it at all.
    let isInFile: Bool
    private let line: Int
    var entries: [String: YAMLNode.Entry] = [:]
    /// The keys, in the order of the file.
    var names: [String] = []
    private var known: [String] = []
    /// False in a group that options and variables do not speak of.
    var takesOverrides = true

    /// No node, or a null one, reads as a group with nothing in it.
    package init(_ node: YAMLNode?, path: String, report: ProblemReport) {
        self.path = path
        self.report = report
        isInFile = node != nil
        line = node?.line ?? 1
        guard let node, !node.isNull else { return }
        guard case .mapping(let all) = node.content else {
            report.add(
                line: node.line,
                key: path,
                "wants a group of settings, got \(node.kindName)"
            )
            return
        }
        for entry in all {
            if let first = entries[entry.key] {
                report.add(
                    line: entry.line,
                    key: keyPath(entry.key),
                    "given twice; first on line \(first.line)"
                )
            } else {
                entries[entry.key] = entry
                names.append(entry.key)
            }
        }
    }

    func has(_ key: String) -> Bool { entries[key].map { !$0.value.isNull } ?? false }

    func keyPath(_ key: String) -> String { path.isEmpty ? key : "\(path).\(key)" }

    /// Where a key stands, or the group when the key is absent.
    func place(of key: String) -> ConfigurationProblem.Place {
        report.place(entries[key]?.line ?? line)
    }

    /// Where the group itself stands.
    var ownPlace: ConfigurationProblem.Place { report.place(line) }

    /// Where a setting was given; nil when it was nowhere.
    func origin(of key: String, _ override: Override) -> ConfigurationProblem.Place? {
        overridden(key, override)?.place ?? (has(key) ? place(of: key) : nil)
    }

    func problem(_ key: String, _ text: String) {
        report.add(place(of: key), key: keyPath(key), text)
    }

    func problem(_ key: String, if isWrong: Bool = true, @TextParts _ text: () -> String) {
        if isWrong { problem(key, text()) }
    }

    /// The setting's value; nil when it is absent, or wrong and reported.
    package mutating func value<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ override: Override = .none
    ) -> Value? {
        know(key)
        let fromFile = entries[key].flatMap { parsed($0.value, key, kind) }
        return overridden(key, override) == nil ? fromFile : overriding(override, kind)
    }

    /// What option or environment say; nil when they are wrong, and that is reported.
    func overriding<Value>(_ override: Override, _ kind: Kind<Value>) -> Value? {
        guard let (place, text) = report.inputs.override(override) else { return nil }
        return report.reporting(place, try kind.parse(text))
    }

    /// A setting that must be given, read by `read`; a sandbox in place of SLS has its own value.
    mutating func required<Value>(
        _ key: String,
        _ override: Override,
        inSandbox: Value,
        _ read: (inout Section, Override) -> Value?
    ) -> Value? {
        guard !has(key), overridden(key, override) == nil else {
            return read(&self, override)
        }
        know(key)
        if report.inputs.isSandboxed { return inSandbox }
        if takesOverrides, let variable = override.variable, !isInFile {
            report.add(.environment(variable), "not set, and a destination needs it")
        } else {
            problem(key, "is missing")
        }
        return nil
    }

    /// What option or environment say, unless an operator decided the setting at run time.
    func overridden(
        _ key: String,
        _ override: Override
    ) -> (place: ConfigurationProblem.Place, text: String)? {
        guard takesOverrides, entries[key]?.value.isDecided != true else { return nil }
        return report.inputs.override(override)
    }

    /// Puts what an operator decided over what the file says.
    mutating func overlay(_ decided: DecidedSettings) {
        for entry in decided.entries {
            if entries[entry.key] == nil { names.append(entry.key) }
            entries[entry.key] = entries[entry.key]?.merged(with: entry) ?? entry
        }
    }

    mutating func section(_ key: String) -> Section {
        know(key)
        return Section(entries[key]?.value, path: keyPath(key), report: report)
    }

    /// For checks: a group that was read already.
    func inner(_ key: String) -> Section {
        Section(entries[key]?.value, path: keyPath(key), report: report)
    }

    /// Reports every key that was not asked for.
    consuming func refuseOthers() {
        for key in names where !known.contains(key) {
            if key == "<<" {
                problem(key, "merge keys are not supported; use an alias for the whole value")
            } else if let start = key.firstIndex(of: " "), known.contains(String(key[..<start])) {
                // The rest of such a key may be a secret, so it is not repeated.
                let meant = String(key[..<start])
                report.add(place(of: key), key: keyPath(meant)) {
                    "no colon separates it from its value; write \(meant): and a space before the "
                    "value"
                }
            } else if let meant = nearMiss(key, among: known) {
                problem(key, "unknown key; did you mean \(meant)?")
            } else if known.isEmpty {
                problem(key, "unknown key; nothing can be set here")
            } else {
                problem(key, "unknown key; known: \(known.joined(separator: ", "))")
            }
        }
    }

    /// Reports known keys without a value, where that is not as good as no key.
    func refuseEmpty() {
        for key in names where known.contains(key) && !has(key) {
            problem(key, "has no value; give one, or take the line away")
        }
    }

    /// From now on the key is one that means something here.
    mutating func know(_ key: String) {
        if !known.contains(key) { known.append(key) }
    }

    /// The value if it can be read, without a report, for checks that compare settings.
    func readable<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ override: Override = .none
    ) -> Value? {
        if let (_, text) = overridden(key, override) { return try? kind.parse(text) }
        guard let node = entries[key]?.value, !node.isNull else { return nil }
        return try? value(of: node, kind)
    }

    /// A node's value; nil: it is empty, or wrong and reported.
    func parsed<Value>(_ node: YAMLNode, _ key: String, _ kind: Kind<Value>) -> Value? {
        // Compiling costs the time, so one report of too many patterns is the last one.
        guard !node.isNull, kind.instructions == nil || !report.hasTooManyPatterns else {
            return nil
        }
        let place = report.place(node.line)
        return report.reporting(place, key: keyPath(key), try value(of: node, kind))
    }

    func value<Value>(of node: YAMLNode, _ kind: Kind<Value>) throws(Mismatch) -> Value {
        guard case .scalar(let written, _) = node.content else {
            throw Mismatch("wants \(kind.wants), got \(node.kindName)")
        }
        // Only the file may refer to files and variables; a decision's text stays as it is.
        let text = node.isDecided ? written : try report.substitution.apply(to: written)
        let value: Value
        do throws(Mismatch) {
            value = try kind.parse(text)
        } catch {
            if kind.instructions != nil { report.countFailedPattern() }
            throw error
        }
        if let count = kind.instructions { try report.countInstructions(count(value)) }
        return value
    }
}

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

    /// The readable items of a list, without a report, so that checks between settings find every
    /// mistake in one run.
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

extension Section {
    /// `match`: one pattern or a list. A comma belongs to a pattern.
    mutating func tagPatterns(_ key: String) -> [TagPattern]? {
        guard !isList(key) else { return list(key, .tagPattern, counts: 1...64) }
        return value(key, .tagPattern).map { [$0] }
    }

    /// Values by field, in the order of the file; nil: something is wrong, which is reported.
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
