package import Net
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

    package init(_ target: String, accept: String = "application/json") {
        self.target = target
        self.accept = accept
    }
}

package struct ServerAnswer: Sendable {
    package var status: Int
    package var body: [UInt8]
    /// Of the Age header, in seconds.
    package var age = 0
}

extension FamilyAnswer {
    /// If one of the addresses is of the other family, nothing in the answer can be trusted.
    func checked(isV4: Bool) throws(QueryFailure) -> FamilyAnswer {
        guard addresses.allSatisfy({ $0.isV4 == isV4 }) else {
            throw .unreadable("something in the answer is not an address of its family")
        }
        return self
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

/// A server of a resolver: where to connect, and the name that its certificate has.
package struct ResolverServer: Hashable, Sendable, CustomStringConvertible {
    package let isEncrypted: Bool
    /// In the URL, in the Host header and in the certificate.
    package let name: String
    package let port: Int
    /// Where the connection goes. nil: to `name`, which the system resolves unless it is an
    /// address.
    package let address: IPAddress?

    package init(isEncrypted: Bool, name: String, port: Int? = nil, address: IPAddress? = nil) {
        self.isEncrypted = isEncrypted
        self.name = name
        self.port = port ?? (isEncrypted ? 443 : 80)
        self.address = address
    }

    /// Without path.
    package var origin: String {
        let scheme = isEncrypted ? "https" : "http"
        let isUsual = port == (isEncrypted ? 443 : 80)
        let host = name.contains(":") ? "[\(name)]" : name
        return "\(scheme)://\(host)\(isUsual ? "" : ":\(port)")"
    }

    package var description: String {
        guard let address else { return origin }
        return "\(origin) at \(address)"
    }

    /// Parses `http(s)://HOST[:PORT]`. An address gets `certificateName` as its name, if the server
    /// is encrypted.
    package init?(_ text: String, certificateName: String? = nil) {
        let isEncrypted = text.hasPrefix("https://")
        guard isEncrypted || text.hasPrefix("http://") else { return nil }
        var rest = text.dropFirst(isEncrypted ? 8 : 7)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        var (host, port) = (rest, Int?.none)
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            host = rest[rest.index(after: rest.startIndex)..<end]
            rest = rest[rest.index(after: end)...]
            guard IPAddress(String(host)) != nil, rest.isEmpty || rest.hasPrefix(":") else {
                return nil
            }
            rest = rest.dropFirst()
        } else if let colon = rest.firstIndex(of: ":") {
            host = rest[..<colon]
            rest = rest[rest.index(after: colon)...]
        } else {
            rest = ""
        }
        if !rest.isEmpty {
            guard let number = UInt16(rest), number > 0 else { return nil }
            port = Int(number)
        }
        let address = IPAddress(String(host))
        guard address != nil || HostName.isValid(host) else { return nil }
        let name = isEncrypted && address != nil ? certificateName : nil
        self.init(
            isEncrypted: isEncrypted,
            name: name ?? String(host),
            port: port,
            address: name == nil ? nil : address
        )
    }
}

/// Names of hosts, as resolvers are asked for them.
package enum HostName {
    /// RFC 1123, with the underscore that some names have. No address is a name.
    package static func isValid(_ text: some StringProtocol) -> Bool {
        let labels = Array(text.utf8).split(
            separator: UInt8(ascii: "."),
            omittingEmptySubsequences: false
        )
        let isNumber = labels.last.map { $0.allSatisfy { (0x30...0x39).contains($0) } } ?? true
        return text.utf8.count <= 253 && !isNumber
            && labels.allSatisfy { label in
                (1...63).contains(label.count) && label.first != UInt8(ascii: "-")
                    && label.last != UInt8(ascii: "-") && label.allSatisfy(\.isWordCharacter)
            }
    }

    /// In lower case and without the root's dot, as caches know it.
    package static func canonical(_ text: String) -> String {
        let lower = text.lowercased()
        return lower.hasSuffix(".") ? String(lower.dropLast()) : lower
    }
}
