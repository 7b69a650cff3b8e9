package import Crypto

/// Where the commit log of a shard lies in PostgreSQL.
package struct PostgreSQLSettings: Sendable, Equatable {
    /// What keeps a second copy of each commit.
    package enum Copies: String, Sendable {
        /// A synchronous standby.
        case standby
        /// The storage of the database, as in PolarDB, which the gateway cannot check.
        case storage
    }

    /// `postgresql://user:password@host:5432/database?sslmode=verify-full`; several hosts are tried
    /// in turn.
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

    /// What is wrong with a text that is no connection URL, without any of it, as it may hold a
    /// password; nil: it is one.
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
