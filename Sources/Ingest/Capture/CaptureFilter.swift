import HTTP
package import Net
package import Routing

/// Which requests a capture keeps. What is absent does not matter.
package struct CaptureFilter: Sendable {
    /// The beginning of the path.
    package var path: String?
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
        if let path, !head.bytes[head.path].starts(with: path.utf8) { return false }
        guard let address else { return true }
        return head.clientAddress(behind: proxies).map(address.contains) ?? false
    }

    func admits(key: String?) -> Bool { self.key.map { $0 == key } ?? true }

    func admits(tag: String?) -> Bool {
        guard let pattern = self.tag else { return true }
        return tag.map { pattern.match($0) != nil } ?? false
    }

    /// True if it may admit the answer to accepted logs: 200 in most dialects, 204 in some.
    var admitsAccepted: Bool { status.map { $0 == 2 || $0 / 100 == 2 } ?? true }

    func admits(status: Int) -> Bool {
        guard let wanted = self.status else { return true }
        return wanted < 10 ? status / 100 == wanted : status == wanted
    }
}
