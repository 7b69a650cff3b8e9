package import System

/// One way of asking a resolver's servers. A dialect makes requests and reads answers; it opens
/// nothing.
package protocol ResolverDialect: Sendable {
    /// How many names one query may have.
    var namesMax: Int { get }

    /// The requests that together ask for both families of these names. `time` is the right one, as
    /// far as it is known.
    func queries(for names: [String], at time: WallTime) -> [ServerRequest]

    /// What one of these requests was answered, by name.
    func answers(
        in answer: ServerAnswer,
        to names: [String]
    ) throws(QueryFailure) -> [String: HostAnswer]

    /// The servers to begin with, and to return to.
    var servers: [ResolverServer] { get }

    /// Asks a server which servers there are. nil: the servers are fixed.
    func listQuery(at time: WallTime) -> ServerRequest?

    /// The servers in such an answer, never none.
    func list(in answer: ServerAnswer) throws(QueryFailure) -> [ResolverServer]
}

extension ResolverDialect {
    package func listQuery(at time: WallTime) -> ServerRequest? { nil }

    package func list(in answer: ServerAnswer) throws(QueryFailure) -> [ResolverServer] {
        throw .unreadable("this resolver has no list of servers")
    }
}

/// A request, without the server that gets it.
package struct ServerRequest: Equatable, Sendable {
    /// From the slash on. It may hold a signature or a token, so it is never shown.
    package var target: String
    package var accept: String
    /// With its content type; nil for GET.
    package var body: (type: String, bytes: [UInt8])?

    package init(_ target: String, accept: String = "application/json") {
        self.target = target
        self.accept = accept
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.target == right.target && left.accept == right.accept
            && left.body?.type == right.body?.type && left.body?.bytes == right.body?.bytes
    }
}

package struct ServerAnswer: Sendable {
    package var status: Int
    package var body: [UInt8]
    /// Of the Age header, in seconds.
    package var age: Int

    package init(status: Int, body: [UInt8], age: Int = 0) {
        self.status = status
        self.body = body
        self.age = age
    }
}

/// Why a query has no answer, and what helps.
package struct QueryFailure: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable, CaseIterable {
        /// No answer, or none that a server of this kind gives. Another server may do better.
        case server
        /// The service explicitly refuses this account or these settings. Asking again changes
        /// nothing. An answer that only cannot be read is a failure of the server: a captive portal
        /// sends those, too.
        case account
        /// It takes the query for one of another time.
        case clock
        /// The account's queries are used up.
        case quota
        /// It refuses this query.
        case query
    }

    package let kind: Kind
    /// The service's code, or what is wrong with the answer.
    package let code: String
    package let remedy: String

    package init(_ kind: Kind, _ code: String, remedy: String) {
        self.kind = kind
        self.code = code
        self.remedy = remedy
    }

    package static func unreadable(_ what: String) -> QueryFailure {
        QueryFailure(
            .server,
            what,
            remedy:
                "none needed if it passes; else check what stands between the gateway and this server"
        )
    }

    static func undecryptable(checking settings: String) -> QueryFailure {
        QueryFailure(
            .server,
            "the answer cannot be decrypted",
            remedy:
                "check the resolver's \(settings), and what stands between the gateway and this server"
        )
    }

    package var description: String { "\(code): \(remedy)" }
}
