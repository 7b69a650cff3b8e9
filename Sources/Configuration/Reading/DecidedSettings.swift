package import JSON

/// Settings that an operator decided at run time, in the words of the configuration file.
package struct DecidedSettings: Equatable, Sendable {
    /// Groups whose members are decided one by one; others, like `tags`, are decided as one value.
    static let groups: Set<String> = ["packet"]
    package static let bytesMax = 64 << 10

    package private(set) var entries: [YAMLNode.Entry] = []

    package var isEmpty: Bool { entries.isEmpty }

    package init() {}

    /// Reads what `json` wrote.
    package init(json: [UInt8]) throws(YAMLError) { try merge(json) }

    /// Takes over a JSON object (RFC 7396): a member that is null is as the file says again.
    package mutating func merge(_ patch: [UInt8]) throws(YAMLError) {
        guard case .mapping(let members) = try YAMLNode(json: patch).content else { return }
        for member in members { merge(member) }
    }

    private mutating func merge(_ member: YAMLNode.Entry) {
        let index = entries.firstIndex { $0.key == member.key }
        var new: YAMLNode.Entry? = member.value.isNull ? nil : member
        if let index, let merged = entries[index].merged(with: member) { new = merged.pruned }
        switch (index, new) {
        case (let index?, let new?): entries[index] = new
        case (let index?, nil): entries.remove(at: index)
        case (nil, let new?): if let new = new.pruned { entries.append(new) }
        case (nil, nil): break
        }
    }

    /// An object of texts: what a text means is decided by the setting that it is for.
    package var json: String {
        var json = JSONWriter()
        json.object { $0.decided(self) }
        return json.text
    }
}

extension YAMLNode.Entry {
    /// Of a group that is decided in part, the rest stays as it was; nil where it is not a group.
    func merged(with patch: YAMLNode.Entry) -> YAMLNode.Entry? {
        guard DecidedSettings.groups.contains(key), case .mapping(let old) = value.content,
            case .mapping(let new) = patch.value.content
        else { return nil }
        let keys = Set(new.map(\.key))
        let merged = old.filter { !keys.contains($0.key) } + new
        return YAMLNode.Entry(
            key: key,
            line: line,
            value: YAMLNode(line: value.line, content: .mapping(merged))
        )
    }

    /// Without the members that are null; nil when nothing is left of a group.
    fileprivate var pruned: YAMLNode.Entry? {
        guard case .mapping(let members) = value.content else { return self }
        let left = members.filter { !$0.value.isNull }
        guard !left.isEmpty || !DecidedSettings.groups.contains(key) else { return nil }
        return YAMLNode.Entry(
            key: key,
            line: line,
            value: YAMLNode(line: value.line, content: .mapping(left))
        )
    }
}

extension YAMLNode {
    /// Of what stands in no file.
    static let decidedLine = 0

    var isDecided: Bool { line == Self.decidedLine }
}

extension JSONWriter {
    package mutating func decided(_ settings: DecidedSettings) {
        for entry in settings.entries { member(entry.key, entry.value) }
    }

    fileprivate mutating func member(_ name: String, _ node: YAMLNode) {
        switch node.content {
        case .scalar(let text, _): member(name, text)
        case .mapping(let members):
            object(name) { json in
                for entry in members { json.member(entry.key, entry.value) }
            }
        case .sequence(let items):
            array(name) { json in
                for case .scalar(let text, _) in items.map(\.content) { json.element(text) }
            }
        }
    }
}

extension DecidedSettings {
    /// Settings that name a file. An operator's token must not reach files of the machine.
    package static let fileKeys: Set<String> = ["path", "ca_file", "cert_file", "key_file"]

    var givenFileKeys: [String] { entries.map(\.key).filter(Self.fileKeys.contains) }

    /// The first setting that may contain a secret: a proxy's password, headers or URLs.
    package var secretKey: String? {
        entries.first { entry in
            guard !entry.value.isNull else { return false }
            guard entry.key == "proxy" else { return ["headers", "url"].contains(entry.key) }
            guard case .scalar(let text, _) = entry.value.content else { return false }
            return text.contains("@")
        }?.key
    }
}
