import Foundation
import TestSupport

/// A sandbox in a process of its own, as people start it.
struct RunningSandbox {
    static let keys = [
        "ALIBABA_CLOUD_ACCESS_KEY_ID": "test-id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "test-secret",
    ]

    let program: Program
    let port: UInt16

    init() throws {
        program = try Program(
            ["sandbox", "--listen", "127.0.0.1:0"],
            environment: Self.keys
        )
        guard let line = program.errors.next(containing: ["sandbox listening"]),
            let port = Program.port(of: "address", in: line)
        else { throw ProgramDidNotStart(complaints: program.errors.lines) }
        self.port = port
    }

    /// A configuration that sends to this sandbox.
    func configuration(dataDirectory: String) -> String {
        """
        listen: 127.0.0.1:0
        admin: { listen: "127.0.0.1:0" }
        data_dir: \(dataDirectory)
        destinations:
          app:
            endpoint: http://localhost:\(port)
            project: demo
            logstore: "*"
            region: sandbox
            packet: { age: 50ms }
        """
    }

    /// The status that a request to its control API is answered with.
    func control(_ method: String, _ path: String, _ body: String = "") -> Int? {
        (try? TestConnection(port: port))?
            .request(method, path, fields: ["Content-Type: application/json"], body: body)?.status
    }

    /// The values of one field in everything that arrived, in order of arrival.
    func received(field: String) -> [String] {
        var values: [String] = []
        let pattern = try? Regex<(Substring, Substring)>("\"\(field)\":\"([^\"]*)\"")
        guard let pattern, let client = try? TestConnection(port: port),
            let answer = client.request("GET", "/logs?limit=100000")
        else { return [] }
        for line in answer.text.split(separator: "\n") {
            if let match = line.firstMatch(of: pattern) { values.append(String(match.1)) }
        }
        return values
    }
}

struct ProgramDidNotStart: Error {
    let complaints: [String]
}
