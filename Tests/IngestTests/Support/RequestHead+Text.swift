import Configuration
import System

@testable import HTTP
@testable import Ingest

extension RequestHead {
    /// One as it would have come, for what looks at heads only.
    static func made(
        _ line: String,
        _ fields: [(String, String)],
        at arrival: WallTime,
        names: [String] = []
    ) -> RequestHead {
        var bytes = Array("\(line) HTTP/1.1\r\n".utf8)
        let target = line.utf8.count - line.split(separator: " ")[1].utf8.count..<line.utf8.count
        var places: [Field] = []
        for (name, value) in fields {
            let start = bytes.count
            bytes += Array("\(name): \(value)\r\n".utf8)
            let colon = start + name.utf8.count
            places.append(Field(name: start..<colon, value: colon + 2..<bytes.count - 2))
        }
        let mark = bytes[target].firstIndex(of: UInt8(ascii: "?"))
        return RequestHead(
            bytes: bytes + Array("\r\n".utf8),
            method: line.hasPrefix("POST ") ? .post : .get,
            path: target.lowerBound..<(mark ?? target.upperBound),
            query: mark.map { $0 + 1..<target.upperBound },
            fields: places,
            minorVersion: 1,
            peer: PeerAddress(host: "127.0.0.1", port: 1, clientNames: names),
            arrival: arrival
        )
    }
}

extension DeviceKeys {
    static func made(_ keys: [DeviceKey], _ change: (inout DeviceSettings) -> Void = { _ in })
        -> DeviceKeys
    {
        var settings = DeviceSettings()
        settings.keys = keys
        change(&settings)
        return DeviceKeys(settings, bodyBytesMax: 1 << 20, nonces: NonceMemory())
    }
}

/// Why the keys do not know the sender; nil: they do.
func problem(_ keys: DeviceKeys, _ head: RequestHead) -> AccessProblem? {
    do throws(AccessProblem) {
        _ = try keys.proven(head)
        return nil
    } catch {
        return error
    }
}
