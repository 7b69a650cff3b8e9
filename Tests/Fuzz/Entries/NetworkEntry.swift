import Configuration
import HTTPClient
import Net
import SLS

@testable import Ingest

/// Addresses as operators and proxies write them. A read address can be written and read again.
enum NetworkEntry: FuzzEntry {
    static let name = "addresses"
    static let bytesMax = 300

    static func run(_ bytes: [UInt8]) throws(Contradiction) {
        let text = String(decoding: bytes, as: UTF8.self)
        if let listen = try? ListenAddress(parsing: text) {
            try check((try? ListenAddress(parsing: "\(listen)")) == listen, "\(listen)")
        }
        if let range = try? AddressRange(parsing: text) {
            try check((try? AddressRange(parsing: "\(range)")) == range, "\(range)")
        }
        if let address = IPAddress(text) {
            try check(IPAddress("\(address)") == address, "\(address)")
            try check(IPAddress(forwarded: bytes[...]) == address, "forwarded: \(address)")
        }
        if let endpoint = try? Endpoint(parsing: text) {
            try check((try? Endpoint(parsing: "\(endpoint)")) == endpoint, "\(endpoint)")
        }
        if let proxy = try? Proxy(parsing: text), proxy.password == nil {
            try check((try? Proxy(parsing: "\(proxy)")) == proxy, "\(proxy)")
        }
        _ = IPAddress(forwarded: bytes[...])
        if let pattern = CertificatePattern(text), let only = pattern.only {
            try check(pattern.covers(only), "a name that does not cover itself: \(text)")
        }
    }
}
