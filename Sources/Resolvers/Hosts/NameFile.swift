import Crypto
import JSON
import Net
import System

/// The last answers on disk, so that a start without any resolver finds addresses. The first line
/// has the checksum of the second, which is JSON; a file that does not fit is ignored.
struct NameFile: Sendable {
    struct Kept: Equatable, Sendable {
        let host: String
        let resolvers: [String]
        let resolver: String
        let addresses: [IPAddress]
        let expires: WallTime
    }

    static let bytesMax = 4 << 20
    private static let magic = "sluice names 1 "

    let path: String

    func save(_ kept: [Kept]) throws(SystemError) {
        let entries = kept.map { entry in
            let resolvers = entry.resolvers.map { jsonQuoted($0) }.joined(separator: ",")
            let addresses = entry.addresses.map { jsonQuoted("\($0)") }.joined(separator: ",")
            return "{\"host\":\(jsonQuoted(entry.host)),\"resolvers\":[\(resolvers)],"
                + "\"resolver\":\(jsonQuoted(entry.resolver)),\"addresses\":[\(addresses)],"
                + "\"expires\":\(entry.expires.seconds)}"
        }
        let text = "[\(entries.joined(separator: ","))]"
        let content = "\(Self.magic)\(Digest.sha256Hex(text))\n\(text)\n"
        try replaceFile(path, with: Array(content.utf8))
    }

    /// nil if there is no file, or none that is whole.
    func load() -> [Kept]? {
        guard let content = try? fileContent(path, bytesMax: Self.bytesMax, waits: false),
            let text = String(validating: content, as: UTF8.self)
        else { return nil }
        let lines = text.split(separator: "\n")
        guard lines.count == 2, lines[0] == Self.magic + Digest.sha256Hex(String(lines[1])),
            let entries = (try? JSONValue(parsing: Array(lines[1].utf8)))?.elements
        else { return nil }
        return entries.compactMap(Self.kept)
    }

    private static func kept(_ value: JSONValue) -> Kept? {
        guard let host = value["host"]?.text, HostName.isValid(host),
            let resolver = value["resolver"]?.text,
            let resolvers = value["resolvers"]?.elements?.compactMap(\.text),
            let expires = value["expires"]?.wholeNumber
        else { return nil }
        let addresses = (value["addresses"]?.elements ?? [])
            .compactMap { $0.text.flatMap { IPAddress($0) } }
        guard !addresses.isEmpty else { return nil }
        return Kept(
            host: host,
            resolvers: resolvers,
            resolver: resolver,
            addresses: Array(addresses.prefix(HostAnswer.addressesMax)),
            expires: WallTime(seconds: Int64(expires))
        )
    }
}
