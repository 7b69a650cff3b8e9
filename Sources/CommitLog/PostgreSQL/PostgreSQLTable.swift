import System

/// A table of a cluster, which the first gateway makes.
struct PostgreSQLTable: Sendable {
    let name: String
    /// Its columns and options, as `CREATE TABLE` takes them.
    let definition: String
    /// A further statement when it is made, or nothing.
    var addition = ""

    /// A cluster's name has letters, digits, `-` and `_`.
    var quoted: String { "\"\(name)\"" }

    func isThere(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let found = try link.run("SELECT to_regclass($1)::text", [.text(quoted)], until: deadline)
        return found.text(0, 0) != nil
    }

    /// Makes it unless it is there.
    func make(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) {
        guard try !isThere(&link, deadline) else { return }
        let sql = "DO $$ BEGIN CREATE TABLE \(quoted) \(definition); \(addition) END $$"
        do throws(CommitLogError) {
            _ = try link.run(sql, [], until: deadline)
        } catch {
            // Another gateway may have made it at the same moment.
            guard try isThere(&link, deadline) else { throw error }
        }
    }

    /// Checks that the user may use it, or may make it. Returns true if it is there.
    func check(_ link: inout PostgreSQLLink, _ deadline: Moment) throws(CommitLogError) -> Bool {
        let isThere = try isThere(&link, deadline)
        guard
            try link.run(isThere ? right : Self.schemaRight, [], until: deadline).text(0, 0)
                == "true"
        else {
            throw CommitLogError(
                .refused,
                isThere
                    ? "the user may not change the table \(name); grant all on it"
                    : "the user may not make the table \(name); grant CREATE on the schema"
            )
        }
        return isThere
    }

    private var right: String {
        let rights = ["SELECT", "INSERT", "UPDATE", "DELETE"].map { right in
            "has_table_privilege('\(quoted)', '\(right)')"
        }
        return "SELECT (\(rights.joined(separator: " AND ")))::text"
    }

    private static let schemaRight = "SELECT has_schema_privilege(current_schema(), 'CREATE')::text"

    /// Makes a transaction wait for nothing, whatever session it runs in: what it does may be lost
    /// in a failover.
    static let unsynced = "SELECT set_config('synchronous_commit', 'off', true)"
}
