import JSON
package import NATS
package import Net
import System

struct JetStreamAPI: Sendable {
    /// How long one answer may take. Callers ask again, so it is shorter than `commit_wait`.
    static let timeout = Duration.seconds(2)
    /// For requests to all servers: a list waits four seconds for those that do not answer.
    static let longTimeout = Duration.seconds(5)

    let client: NATSClient

    struct Refusal: Error, Equatable {
        let code: Int
        let text: String

        static let streamNotFound = 10059
        static let messageNotFound = 10037
        static let wrongLastSequence = [10071, 10164]

        /// nil: the answer is none of an error.
        init?(_ answer: JSONValue) {
            guard let error = answer["error"] else { return nil }
            code = error["err_code"]?.wholeNumber ?? 0
            text = String((error["description"]?.text ?? "no reason given").prefix(300))
        }

        /// What it means for a log.
        var kind: CommitLogError.Kind {
            switch code {
            // No space: of a server, of the account, of the stream.
            case 10023, 10002, 10028, 10047, 10077, 10122: .noRoom
            // No leader yet, not all servers, an earlier change of the stream goes on, or another
            // gateway has just made it.
            case 10008, 10009, 10010, 10004, 10058, 10226: .unreachable
            case 10005 where text.contains("offline"): .unreachable
            default: .refused
            }
        }
    }

    func ask(
        _ subject: String,
        timeout: Duration = timeout,
        _ parameters: (inout JSONWriter) -> Void = { _ in }
    ) throws(CommitLogError) -> Result<JSONValue, Refusal> {
        var json = JSONWriter()
        json.object(parameters)
        let answer: JSONValue
        do throws(NATSError) {
            let message = try client.request(
                "$JS.API.\(subject)",
                json.bytes,
                timeout: timeout
            )
            answer = try Self.document(message)
        } catch {
            throw CommitLogError(error, subject)
        }
        return Refusal(answer).map { .failure($0) } ?? .success(answer)
    }

    static func document(_ message: NATSMessage) throws(NATSError) -> JSONValue {
        do throws(JSONProblem) {
            return try JSONValue(parsing: message.body, depthMax: 16)
        } catch {
            throw .malformed("the answer of JetStream is not JSON: \(error.reason)")
        }
    }
}

extension CommitLogError {
    init(_ error: NATSError, _ request: String) {
        switch error.kind {
        case .refused: self.init(.refused, error.description)
        case .noResponders:
            self.init(
                .unreachable,
                "JetStream does not answer \(request); it has no leader at this moment, or is not on"
            )
        case .timeout: self.init(.unreachable, "JetStream did not answer \(request) in time")
        case .disconnected, .malformed: self.init(.unreachable, error.description)
        }
    }
}

/// Where the commit log of a shard lies in NATS JetStream.
package struct JetStreamSettings: Sendable, Equatable {
    package var servers: [NATSServerAddress]
    package var authentication: NATSSettings.Authentication
    /// nil: TLS is used only with servers that demand it or have a `tls://` address.
    package var tls: OutboundTLS?
    /// Several clusters of Sluice may share the servers.
    package var cluster: String
    /// The gateway's name in the cluster, with which the names of its shards begin.
    package var node: String
    /// Copies of each stream, on as many servers.
    package var replicas: Int
    /// Streams may become weaker than they are.
    package var weakens: Bool

    package init(
        servers: [NATSServerAddress],
        authentication: NATSSettings.Authentication = .none,
        tls: OutboundTLS? = nil,
        cluster: String = "main",
        node: String,
        replicas: Int = 3,
        weakens: Bool = false
    ) {
        self.servers = servers
        self.authentication = authentication
        self.tls = tls
        self.cluster = cluster
        self.node = node
        self.replicas = replicas
        self.weakens = weakens
    }

    package var client: NATSSettings {
        var settings = NATSSettings(
            servers: servers,
            authentication: authentication,
            tls: tls,
            name: "sluice/\(Version.current) \(node)",
            minimumVersion: JetStreamLog.minimumVersion
        )
        settings.inboxPrefix = "sluice.\(cluster).inbox"
        return settings
    }
}
