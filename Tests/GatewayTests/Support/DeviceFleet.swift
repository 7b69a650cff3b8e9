import Glibc
import TestSupport

/// Many devices that send once, over few connections: each connection carries the requests of a
/// part of them, one behind the other.
struct DeviceFleet {
    let client: TestClient
    var devices: Int
    var logsEach: Int
    var connections = 64

    /// Sends everything and returns how many requests were answered with 200.
    func send(to logstore: String) throws -> Int {
        let open = try (0..<connections).map { first in
            try client.opened(sending: requests(from: first, to: logstore))
        }
        return open.reduce(0) { count, connection in
            let heard = connection.rest()
            return count + heard.ranges(of: "HTTP/1.1 200 ").count
        }
    }

    private func requests(from first: Int, to logstore: String) -> String {
        var text = ""
        for device in stride(from: first, to: devices, by: connections) {
            let isLast = device + connections >= devices
            let body = body(device)
            text += "POST /logstores/\(logstore)/track HTTP/1.1\r\nhost: h\r\n"
            text += isLast ? "connection: close\r\n" : ""
            text += "content-length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        return text
    }

    /// What SLS's SDK for phones sends.
    private func body(_ device: Int) -> String {
        let logs = (0..<logsEach).map { #"{"number":"\#(device)-\#($0)","event":"opened"}"# }
        return
            #"{"__topic__":"app","__source__":"iOS","__logs__":[\#(logs.joined(separator: ","))],"#
            + #""__tags__":{"__pack_id__":"\#(device)-0","device_id":"device-\#(device)"}}"#
    }

    /// The numbers of the logs that arrived, in their order, read from the sandbox.
    static func numbers(at sandbox: TestClient, in logstore: String) throws -> [String] {
        var numbers: [String] = []
        var after = "0"
        while true {
            let page = try sandbox.get("/logs?logstore=\(logstore)&limit=20000&after=\(after)")
            numbers += page.text.split(separator: #""number":""#).dropFirst()
                .map { String($0.prefix { $0 != "\"" }) }
            guard page["x-sandbox-more"] == "true", let cursor = page["x-sandbox-cursor"] else {
                return numbers
            }
            after = cursor
        }
    }
}
