import Configuration
import Crypto
import Queue
import SLS

@testable import Delivery

enum Samples {
    static let logsPerRow = 50
    static let secret = "very-secret-key-indeed"
    static let token = "very/secret+token=="
    static let credential = Credential(
        accessKeyID: "testkeyid",
        secret: Secret(secret),
        securityToken: Secret(token)
    )

    /// `Log` entries with one field each.
    static func logs(seed: Int) -> [UInt8] { logList(seed: seed).flatMap(\.self) }

    static func logList(seed: Int) -> [[UInt8]] {
        (0..<logsPerRow).map { log("value \(seed) \($0)") }
    }

    /// One `Log` entry with one field.
    static func log(_ text: String) -> [UInt8] {
        let value = Array(text.utf8)
        let pair = [0x0A, 1, 0x6B, 0x12, UInt8(value.count)] + value
        let log = [0x08, 0x88, 0xC1, 0x98, 0xBC, 0x06, 0x12, UInt8(pair.count)] + pair
        return [0x0A, UInt8(log.count)] + log
    }

    /// What `log` wrote, as far as the bytes are such logs.
    static func values(in bytes: [UInt8]) -> [String] {
        var values: [String] = []
        var rest = bytes[...]
        while rest.count > 15, rest.first == 0x0A {
            let log = rest.prefix(2 + Int(rest[rest.startIndex + 1]))
            values.append(String(decoding: log.dropFirst(15), as: UTF8.self))
            rest = rest.dropFirst(log.count)
        }
        return values
    }

    static func destination(
        port: Int,
        name: String = "app",
        compression: Destination.BodyCompression = .lz4
    ) throws -> Destination {
        var destination = Destination(name: name)
        destination.endpoints = [try Endpoint(parsing: "http://127.0.0.1:\(port)")]
        destination.project = "demo-project"
        destination.region = "cn-hangzhou"
        destination.transfer.compression = compression
        return destination
    }

    static func fileDestination(_ file: FileTarget, name: String = "app") -> Destination {
        var destination = Destination(name: name, kind: .file)
        destination.file = file
        return destination
    }

    /// `url` begins with a place that it leads to.
    static func httpTarget(_ url: String, at place: String) throws -> HTTPTarget {
        var target = HTTPTarget()
        target.address = WebAddress(url: Secret(url), place: try Endpoint(parsing: place))
        return target
    }
}

extension Destination.BodyCompression {
    init(_ compression: Compression) {
        self = Destination.BodyCompression(rawValue: compression.rawValue) ?? .lz4
    }
}

extension PacketID {
    /// A packet of the home shard.
    static func home(_ number: Int64) -> PacketID { PacketID(shard: .home, number: number) }
}

extension StreamID {
    static let any = StreamID(shard: .home, number: 1)
}
