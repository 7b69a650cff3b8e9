import HTTP
package import Net
package import Routing

/// Which requests a capture keeps. What is absent does not matter.
package struct CaptureFilter: Sendable {
    /// The beginning of the path, where `*` stands for any text.
    package var path: String?
    /// The host of the request, where `*` stands for any text. Without a port it matches every
    /// port.
    package var host: String?
    package var tag: TagPattern?
    /// The name of a device's key.
    package var key: String?
    package var address: AddressRange?
    /// 404, or 4 for every status from 400 to 499.
    package var status: Int?
    /// A text in the body, inflated.
    package var text: String?

    package init() {}

    func admits(_ head: RequestHead, behind proxies: [AddressRange]) -> Bool {
        if let path, !Self.matches(head.bytes[head.path], path + "*") { return false }
        if let host {
            let sent = (head.field("host") ?? "").lowercased()
            let name = host.contains(":") ? sent : AskedRequest.hostName(sent)
            guard Self.matches(name.utf8, host) else { return false }
        }
        guard let address else { return true }
        return head.clientAddress(behind: proxies).map(address.contains) ?? false
    }

    /// Each part of the pattern is looked for behind the one before, the last one at the end.
    private static func matches(_ text: some Collection<UInt8>, _ pattern: String) -> Bool {
        let text = Array(text)
        let parts = pattern.utf8.split(
            separator: UInt8(ascii: "*"),
            omittingEmptySubsequences: false
        )
        guard text.starts(with: parts[0]) else { return false }
        guard let last = parts.dropFirst().last else { return text.count == parts[0].count }
        var place = parts[0].count
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = text[place...].firstRange(of: part) else { return false }
            place = found.upperBound
        }
        return text[place...].count >= last.count
            && text[place...].suffix(last.count).elementsEqual(last)
    }

    func admits(key: String?) -> Bool { self.key.map { $0 == key } ?? true }

    func admits(tags: [String]) -> Bool {
        tag.map { pattern in tags.contains { pattern.match($0) != nil } } ?? true
    }

    /// True if it may admit the answer to accepted logs: 200 in most dialects, 204 in some.
    var admitsAccepted: Bool { status.map { $0 == 2 || $0 / 100 == 2 } ?? true }

    func admits(status: Int) -> Bool {
        guard let wanted = self.status else { return true }
        return wanted < 10 ? status / 100 == wanted : status == wanted
    }
}
