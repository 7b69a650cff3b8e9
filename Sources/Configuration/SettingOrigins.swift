import Credentials

/// Where each setting was given.
package struct SettingOrigins: Sendable, Equatable {
    /// Two configurations are the same wherever their settings were given.
    package static func == (left: SettingOrigins, right: SettingOrigins) -> Bool { true }

    package enum Origin: Sendable, Equatable {
        case file(line: Int)
        /// The name of the variable.
        case environment(String)
        /// The option, with its dashes.
        case option(String)
        /// By an operator, at run time.
        case decided
        case standard

        package var name: String {
            switch self {
            case .file: "file"
            case .environment: "environment"
            case .option: "option"
            case .decided: "decided"
            case .standard: "default"
            }
        }
    }

    /// The configuration file; nil: there is none.
    package private(set) var file: String?
    private var known: [String: Origin] = [:]

    init() {}

    init(_ document: YAMLNode?, _ inputs: ConfigurationInputs) {
        file = inputs.path
        if let document { note(document, at: "") }
        for setting in GatewayConfiguration.descriptions { note(setting, at: "", inputs) }
        // Options and variables speak of a single destination.
        let names = document?.names(in: "destinations") ?? []
        if names.count < 2 {
            for setting in Destination.descriptions {
                note(setting, at: "destinations.\(names.first ?? "default").", inputs)
            }
        }
        for (name, settings) in inputs.decided {
            for entry in settings.entries { known["destinations.\(name).\(entry.key)"] = .decided }
        }
    }

    /// Of the setting itself, else of a group around it that is given as one value.
    package func origin(of key: String) -> Origin {
        var path = key[...]
        while true {
            if let origin = known[String(path)] { return origin }
            guard let dot = path.lastIndex(of: ".") else { return .standard }
            path = path[..<dot]
        }
    }

    private mutating func note(_ node: YAMLNode, at path: String) {
        guard case .mapping(let entries) = node.content else { return }
        for entry in entries where !entry.value.isNull {
            let key = path.isEmpty ? entry.key : "\(path).\(entry.key)"
            if case .mapping = entry.value.content {
                note(entry.value, at: key)
            } else {
                known[key] = .file(line: entry.line)
            }
        }
    }

    private mutating func note(
        _ setting: SettingDescription,
        at path: String,
        _ inputs: ConfigurationInputs
    ) {
        let key = path + setting.key
        for member in setting.members?() ?? [] where !setting.isList && !setting.isMap {
            note(member, at: key + ".", inputs)
        }
        switch inputs.override(setting.override)?.place {
        case .environment(let name): known[key] = .environment(name)
        case .option(let name): known[key] = .option(name)
        default: break
        }
    }
}

extension YAMLNode {
    fileprivate func names(in group: String) -> [String] {
        guard case .mapping(let entries) = content,
            case .mapping(let members)? = entries.first(where: { $0.key == group })?.value.content
        else { return [] }
        return members.map(\.key)
    }
}

/// A setting as it is in force.
package struct EffectiveSetting: Sendable {
    package let key: String
    /// nil: nothing is set.
    package let value: String?
    /// True: it is a secret, or a value that is shown elsewhere.
    package let isHidden: Bool
    package let origin: SettingOrigins.Origin
}

extension GatewayConfiguration {
    /// Every setting in force, in the order of the tables, without secrets.
    package var effective: [EffectiveSetting] {
        var settings: [EffectiveSetting] = []
        for (key, value) in shown { add(value, key, &settings) }
        for destination in destinations {
            for (key, value) in destination.shown {
                add(value, "destinations.\(destination.name).\(key)", &settings)
            }
        }
        for (name, source) in credentials.sorted(by: { $0.key < $1.key }) {
            add(.text(source.kind), "credentials.\(name)", &settings)
        }
        return settings
    }

    private func add(_ value: SettingValue, _ key: String, _ settings: inout [EffectiveSetting]) {
        if case .group(let members) = value {
            for member in members { add(member.value, "\(key).\(member.key)", &settings) }
            return
        }
        var text = value.written
        if case .list(let items) = value {
            text = items.isEmpty ? nil : items.compactMap(\.written).joined(separator: ", ")
        }
        let isHidden = if case .hidden = value { true } else { false }
        settings.append(
            EffectiveSetting(
                key: key,
                value: text,
                isHidden: isHidden,
                origin: origins.origin(of: key)
            )
        )
    }
}
