import Crypto
import JSON

/// The command line tool's `~/.aliyun/config.json`.
struct CLIProfiles {
    private(set) var current: String?
    private(set) var profiles: [String: [String: Secret]] = [:]

    /// nil when the file is of another kind or incomplete.
    init?(_ json: [UInt8]) {
        var reader = JSONReader(json)
        guard Self.readMembers(&reader, { name, reader in readMember(name, &reader) }),
            reader.isAtEnd
        else { return nil }
    }

    private mutating func readMember(_ name: String, _ reader: inout JSONReader) -> Bool {
        switch name {
        case "current":
            guard reader.isAtString else { return reader.takeNull() }
            current = reader.string()
            return current != nil
        case "profiles":
            guard reader.take("[") else { return reader.takeNull() }
            var isFirst = true
            while !reader.take("]") {
                guard isFirst || reader.take(","), let profile = Self.profile(&reader) else {
                    return false
                }
                isFirst = false
                // The file's size bounds their number.
                if let name = profile["name"]?.revealed { profiles[name] = profile }
            }
            return true
        default: return reader.skipValue()
        }
    }

    private static func profile(_ reader: inout JSONReader) -> [String: Secret]? {
        var settings: [String: Secret] = [:]
        let isWhole = readMembers(&reader) { name, reader in
            if reader.isAtString {
                guard var bytes = reader.stringBytes() else { return false }
                settings[name] = bytes.withUnsafeBytes { Secret(copying: $0) }
                wipe(&bytes)
                return true
            }
            guard let literal = reader.literal() else { return reader.skipValue() }
            // No relevant number or word is longer.
            if literal != "null", literal.utf8.count <= 20 { settings[name] = Secret(literal) }
            return true
        }
        return isWhole ? settings : nil
    }

    private static func readMembers(
        _ reader: inout JSONReader,
        _ member: (String, inout JSONReader) -> Bool
    ) -> Bool {
        guard reader.take("{") else { return false }
        var isFirst = true
        while !reader.take("}") {
            guard isFirst || reader.take(","), let name = reader.string(), reader.take(":"),
                member(name, &reader)
            else { return false }
            isFirst = false
        }
        return true
    }
}
