import HTTP
import Net

extension RequestHead {
    /// The address of the client: the other end of the connection or, behind a trusted proxy, the
    /// last address in X-Forwarded-For that is not a trusted proxy's.
    ///
    /// Each proxy appends the address that it sees. Everything before the first untrusted address
    /// is that client's own claim and is ignored. An unreadable entry ends the search at the proxy
    /// that passed it on.
    func clientAddress(behind proxies: [AddressRange]) -> IPAddress? {
        guard var address = peer.address else { return nil }
        let isBelieved = peer.mayForward && isProxy(address, proxies)
        for value in isBelieved ? fieldRanges("x-forwarded-for").reversed() : [] {
            var end = value.upperBound
            while true {
                let comma = bytes[value.lowerBound..<end].lastIndex(of: UInt8(ascii: ","))
                let start = comma.map { $0 + 1 } ?? value.lowerBound
                guard let next = IPAddress(forwarded: bytes[start..<end]) else { return address }
                address = next
                guard isProxy(next, proxies) else { return address }
                guard let comma else { break }
                end = comma
            }
        }
        return address
    }

    private func isProxy(_ address: IPAddress, _ proxies: [AddressRange]) -> Bool {
        proxies.contains { $0.contains(address) }
    }
}

extension IPAddress {
    /// Accepts blanks around the address, and a port that some proxies add: "192.0.2.1:4711",
    /// "[2001:db8::1]:4711".
    init?(forwarded text: ArraySlice<UInt8>) {
        var rest = text.drop(while: \.isBlank)
        while rest.last?.isBlank == true { rest.removeLast() }
        let colon = UInt8(ascii: ":")
        var port = ArraySlice<UInt8>()
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            port = rest[(end + 1)...]
            rest = rest[..<end].dropFirst()
            guard rest.contains(colon) else { return nil }
        } else if let first = rest.firstIndex(of: colon), rest.lastIndex(of: colon) == first {
            port = rest[first...]
            rest = rest[..<first]
        }
        guard port.isEmpty || port.first == colon && port.dropFirst().isPort else { return nil }
        self.init(rest)
    }
}

extension ArraySlice<UInt8> {
    fileprivate var isPort: Bool {
        (1...5).contains(count) && allSatisfy { (0x30...0x39).contains($0) }
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || self == 0x09 }
}
