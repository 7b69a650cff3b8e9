/// The group of an engine of the queue as the file has it: `queue.jetstream`, `queue.postgresql`.
protocol EngineEntry: SettingGroup {
    /// Its name is the key of the group.
    static var engine: QueueSettings.Engine { get }
    /// Where the group's settings go.
    static var path: WritableKeyPath<QueueSettings, Self?> { get }
    /// One sentence in Markdown.
    static var help: String { get }
    /// The setting that the engine needs, and how to write it.
    static var required: (key: String, remedy: String) { get }

    var node: NodeEntry { get }
}

extension EngineEntry {
    /// The row of the group `queue`.
    static var setting: Setting<QueueSettings> {
        let key = engine.rawValue
        return Setting(
            description: SettingDescription(
                key: key,
                help: help,
                isImmediate: false,
                members: { descriptions }
            ),
            read: { section, queue in
                queue[keyPath: path] = read(&section, for: queue.engine)
                return queue[keyPath: path] != nil
            },
            changes: { old, new in
                // With another engine, that one's row tells the change.
                guard let before = old[keyPath: path], let after = new[keyPath: path] else {
                    return []
                }
                return before.changes(to: after, at: key + ".")
            },
            apply: { _, _ in },
            show: { queue in queue[keyPath: path].map { .present($0.shown) } ?? .absent }
        )
    }

    /// nil with another engine, and if the group is wrong, which is reported.
    private static func read(
        _ queue: inout Section,
        for engine: QueueSettings.Engine
    ) -> Self? {
        var section = queue.section(Self.engine.rawValue)
        var entry = Self()
        entry.readSettings(&section)
        section.refuseEmpty()
        entry.check(section)
        // A wrong engine, which is reported, may have meant any.
        if !queue.report.hasProblem(with: queue.keyPath("engine")) {
            entry.checkUse(of: section, in: queue, by: engine)
        }
        section.refuseOthers()
        return engine == Self.engine ? entry : nil
    }

    private func checkUse(
        of section: borrowing Section,
        in queue: borrowing Section,
        by engine: QueueSettings.Engine
    ) {
        let report = queue.report
        let name = Self.engine.rawValue
        if engine != Self.engine, queue.has(name) {
            queue.problem(
                name,
                "nothing uses it with engine: \(engine.rawValue); set queue.engine: \(name), or take the "
                    + "group away"
            )
        }
        guard engine == Self.engine, !report.hasProblem(with: section.path) else { return }
        let place = section.isInFile ? section.ownPlace : queue.place(of: "engine")
        if node.name == nil {
            report.add(
                place,
                key: section.keyPath("node"),
                "is missing, and the host has no name; give the gateway a name"
            )
        }
        let (key, remedy) = Self.required
        guard !section.names.contains(key) else { return }
        report.add(
            place,
            key: section.keyPath(key),
            "is missing, and engine: \(name) needs it; \(remedy)"
        )
    }
}
