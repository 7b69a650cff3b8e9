import Configuration
import Foundation
import Routing
import TestConfiguration
import TestGateway
import TestSupport
import Testing

extension SandboxedGateway {
    static var json: KeyValuePairs<String, String> { ["content-type": "application/json"] }

    /// A gateway with a capture, and its id.
    static func capturing(_ body: String = "{}") throws -> (SandboxedGateway, id: String) {
        let trial = try SandboxedGateway()
        return (trial, try trial.startCapture(body))
    }

    /// Starts a capture, and returns its id.
    func startCapture(_ body: String = "{}") throws -> String {
        let answer = try admin.ask("POST", "/admin/captures", body)
        #expect(answer.status == 201, "\(answer.text)")
        let location = try #require(answer["location"])
        return String(location.split(separator: "/")[2])
    }

    func captureEntries(_ id: String) throws -> [[String: Any]] {
        try #require(try object("/admin/captures/\(id)")["entries"] as? [[String: Any]])
    }

    /// A filter redacts what tells a customer, in logs of `pay.**` and `p.**`.
    static func redacting(
        _ change: @escaping @Sendable (inout GatewayConfiguration) -> Void = { _ in }
    ) throws -> SandboxedGateway {
        let filters = try routingRules(
            """
            filters:
            - match: "{pay,p}.**"
              steps: [{ redact: { fields: [card, _id, __referer__], with: "[gone]" } }]
            """
        )
        return try SandboxedGateway { configuration in
            configuration.routing = filters
            change(&configuration)
        }
    }

    /// An answer of the admin API.
    func object(_ path: String) throws -> [String: Any] {
        let answer = try admin(path)
        #expect(answer.status == 200, "\(answer.text)")
        return try answer.object
    }
}

/// The filters and routes of a configuration.
func routingRules(_ text: String) throws -> RoutingRules {
    let keys = ["ALIBABA_CLOUD_ACCESS_KEY_ID": "id", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
    return try read(minimal + text + "\n", keys).routing
}

extension TestAnswer {
    var object: [String: Any] {
        get throws {
            try #require(JSONSerialization.jsonObject(with: Data(content)) as? [String: Any])
        }
    }

    /// The body without its chunks, if it came in some.
    var content: [UInt8] {
        guard self["transfer-encoding"] == "chunked" else { return body }
        var (content, rest) = ([UInt8](), body[...])
        while let line = rest.firstRange(of: Array("\r\n".utf8)),
            let size = Int(String(decoding: rest[..<line.lowerBound], as: UTF8.self), radix: 16),
            size > 0
        {
            content += rest[line.upperBound...].prefix(size)
            rest = rest[line.upperBound...].dropFirst(size + 2)
        }
        return content
    }

    /// The lines of the body.
    var lines: [Substring] { String(decoding: content, as: UTF8.self).split(separator: "\n") }
}
