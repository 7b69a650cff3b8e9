import JSON

package struct ServerInfo: Sendable, Equatable {
    package let name: String
    package let version: String
    package let hasHeaders: Bool
    package let hasJetStream: Bool
    package let payloadMax: Int
    let demandsTLS: Bool
    let offersTLS: Bool
    /// Signed by clients that have a key.
    let nonce: String?
    /// Other servers of its cluster.
    let others: [NATSServerAddress]
    /// It is about to stop, and asks clients to go to others.
    let isLeaving: Bool

    /// Servers of a cluster that are remembered.
    private static let othersMax = 64

    /// Before a server has described itself.
    static let unknown = ServerInfo()

    private init() {
        (name, version, hasHeaders, hasJetStream, payloadMax) = ("", "", false, false, 0)
        (demandsTLS, offersTLS, nonce, others, isLeaving) = (false, false, nil, [], false)
    }

    package init(_ text: [UInt8]) throws(NATSError) {
        let json: JSONValue
        do throws(JSONProblem) {
            json = try JSONValue(parsing: text, depthMax: 8)
        } catch {
            throw .malformed("the server's INFO is not JSON: \(error.reason)")
        }
        guard let version = json["version"]?.text,
            let payloadMax = json["max_payload"]?.wholeNumber,
            payloadMax > 0
        else { throw .malformed("the server's INFO lacks version or max_payload") }
        self.version = String(version.prefix(64))
        self.payloadMax = payloadMax
        name = String((json["server_name"]?.text ?? json["server_id"]?.text ?? "").prefix(128))
        hasHeaders = json["headers"] == .bool(true)
        hasJetStream = json["jetstream"] == .bool(true)
        demandsTLS = json["tls_required"] == .bool(true)
        offersTLS = json["tls_available"] == .bool(true)
        nonce = json["nonce"]?.text
        isLeaving = json["ldm"] == .bool(true)
        let urls = json["connect_urls"]?.elements ?? []
        others = urls.prefix(Self.othersMax).compactMap {
            $0.text.flatMap { NATSServerAddress($0) }
        }
    }
}
