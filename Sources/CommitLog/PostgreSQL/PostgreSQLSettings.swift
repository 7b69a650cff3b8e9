import CPostgreSQL
package import Crypto
import Net

/// Where the commit log of a shard lies in PostgreSQL.
package struct PostgreSQLSettings: Sendable, Equatable {
    /// What keeps a second copy of each commit.
    package enum Copies: String, Sendable {
        case standby
        /// The storage of the database, as in PolarDB, which the gateway cannot check.
        case storage
    }

    /// `postgresql://user:password@host:5432/database?sslmode=verify-full`, or several hosts.
    package var url: Secret
    /// Several clusters of Sluice may share the database.
    package var cluster: String
    /// The gateway's name in the cluster, with which the names of its shards begin.
    package var node: String
    package var copies: Copies

    package init(
        url: Secret,
        cluster: String = "main",
        node: String,
        copies: Copies = .standby
    ) {
        self.url = url
        self.cluster = cluster
        self.node = node
        self.copies = copies
    }

    /// What is wrong with a URL, without any part of it, which may be a password; nil: nothing.
    package static func problem(ofURL url: Secret) -> String? {
        do throws(PostgreSQLTarget.Problem) {
            _ = try PostgreSQLTarget(url)
            return nil
        } catch {
            return error.text
        }
    }

    /// Where the URL leads; nil: it is none.
    package var target: PostgreSQLTarget? { try? PostgreSQLTarget(url) }
}

/// Where a connection URL leads, without user and password, for operators. libpq reads the URL and
/// the variables that stand in for what it leaves out (PGHOST, PGSSLMODE).
package struct PostgreSQLTarget: Equatable, Sendable, CustomStringConvertible {
    struct Problem: Error {
        let text: String
    }

    private static let modes = [
        "disable", "allow", "prefer", "require", "verify-ca", "verify-full",
    ]

    /// "db1:5432", or "/run/postgresql" for a socket.
    package var servers: [String] { hosts.map(\.description) }
    /// The same, as libpq names them.
    let hosts: [PostgreSQLServer]
    /// nil: libpq takes the one with the user's name.
    package let database: String?
    /// Connections demand TLS, and a certificate that names the server.
    package let isVerified: Bool
    /// Connections stay on this machine.
    package let isLocal: Bool

    init(_ url: Secret) throws(Problem) {
        let text = url.revealed
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") else {
            throw Problem(text: "does not begin with postgresql://")
        }
        guard var words = Self.words(PQconninfoParse(text, nil)) else {
            throw Problem(text: "is no connection URL of PostgreSQL")
        }
        words.merge(Self.words(PQconndefaults()) ?? [:]) { given, _ in given }
        func list(_ name: String) -> [String] {
            (words[name] ?? "").split(separator: ",", omittingEmptySubsequences: false)
                .map(String.init)
        }
        let (names, addresses, ports) = (list("host"), list("hostaddr"), list("port"))
        let database = words["dbname"] ?? ""
        // A '/' or '@' in a password makes libpq take parts of it for these.
        let isSplit =
            database.contains("@") || names.contains { $0.dropFirst().contains("@") }
            || ports.contains { !$0.isEmpty && (UInt16($0) ?? 0) == 0 }
        guard !isSplit else { throw Problem(text: "is no connection URL of PostgreSQL") }
        let mode = words["sslmode"] ?? ""
        guard mode.isEmpty || Self.modes.contains(mode) else {
            throw Problem(
                text: "has an sslmode that is not one of \(Self.modes.joined(separator: ", "))"
            )
        }
        func item(_ list: [String], _ index: Int) -> String {
            list.indices.contains(index) ? list[index] : ""
        }
        let count = max(names.count, addresses.count)
        hosts = (0..<count).map { index in
            let port = ports.count == 1 ? ports[0] : item(ports, index)
            return PostgreSQLServer(
                host: item(names, index),
                address: item(addresses, index),
                port: port.isEmpty ? "5432" : port
            )
        }
        // A file on this machine names the service's hosts.
        isLocal =
            words["service"] == nil
            && (0..<count).allSatisfy { index in
                let address = item(addresses, index)
                return Self.isLocal(address.isEmpty ? item(names, index) : address)
            }
        self.database = database.isEmpty ? nil : database
        isVerified = mode == "verify-full"
    }

    package var description: String {
        (database.map { "database \($0)" } ?? "the user's database")
            + " at \(servers.joined(separator: ", "))"
    }

    private static func isLocal(_ host: String) -> Bool {
        host.isEmpty || PostgreSQLServer.isSocket(host) || IPAddress.isLoopback(host: host)
    }

    /// Takes over what libpq returned. nil: it returned nothing.
    private static func words(
        _ options: UnsafeMutablePointer<PQconninfoOption>?
    ) -> [String: String]? {
        guard let options else { return nil }
        defer { PQconninfoFree(options) }
        let wanted = ["host", "hostaddr", "port", "dbname", "sslmode", "service"]
        var words: [String: String] = [:]
        var next = options
        while let keyword = next.pointee.keyword {
            let name = String(cString: keyword)
            if let value = next.pointee.val, wanted.contains(name) {
                words[name] = String(cString: value)
            }
            next += 1
        }
        return words
    }
}
