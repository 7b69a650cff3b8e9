import Crypto
import Testing

@testable import CommitLog

/// What libpq makes of a connection URL.
@Suite struct PostgreSQLTargetTests {
    private func target(_ url: String) throws -> PostgreSQLTarget {
        try #require(PostgreSQLSettings(url: Secret(url), node: "a").target)
    }

    @Test(
        "Hosts and database are told without user and password",
        arguments: [
            ("postgresql://joe:canary@db1:5433/logs", "database logs at db1:5433"),
            ("postgres://canary@db1", "the user's database at db1:5432"),
            ("postgresql://db1,db2:5433/logs", "database logs at db1:5432, db2:5433"),
            ("postgresql://db1,db2/logs?port=5434", "database logs at db1:5434, db2:5434"),
            ("postgresql://[2001:db8::1]/logs", "database logs at [2001:db8::1]:5432"),
            ("postgresql://db1/logs?hostaddr=192.0.2.1", "database logs at db1:5432"),
            ("postgresql:///logs?hostaddr=192.0.2.1", "database logs at 192.0.2.1:5432"),
            ("postgresql://%2Frun%2Fpg/logs", "database logs at /run/pg"),
            ("postgresql://joe:canary@/logs", "database logs at the usual socket"),
            ("postgresql:///logs?host=db1&password=canary", "database logs at db1:5432"),
            ("postgresql://joe:c%2F%40nary@db1/logs", "database logs at db1:5432"),
        ]
    )
    func place(url: String, place: String) throws {
        #expect(try target(url).description == place)
    }

    @Test(
        "Only verify-full demands the right server",
        arguments: [
            ("", false), ("?sslmode=disable", false), ("?sslmode=require", false),
            ("?ssl=true", false), ("?sslmode=verify-ca", false), ("?sslmode=verify-full", true),
            ("?sslmode=verify-full&sslmode=disable", false),
            ("?application_name=sslmode%3Dverify-full", false),
        ]
    )
    func mode(words: String, isVerified: Bool) throws {
        #expect(try target("postgresql://db1/logs\(words)").isVerified == isVerified)
    }

    @Test(
        "Loopback addresses and sockets are local",
        arguments: [
            ("localhost", true), ("127.0.0.1:5433", true), ("[::1]", true), ("%2Frun%2Fpg", true),
            ("", true), ("%40abstract", true), ("localhost,127.0.0.2", true),
            ("localhost,db1", false), ("db1", false), ("192.0.2.1", false),
            ("127.example.com", false), ("localhost/logs?hostaddr=192.0.2.1", false),
            ("db1/logs?hostaddr=127.0.0.1", true), ("/logs?service=main", false),
        ]
    )
    func local(place: String, isLocal: Bool) throws {
        #expect(try target("postgresql://\(place)").isLocal == isLocal)
    }

    @Test(
        "A text that is no URL is refused without a part of it",
        arguments: [
            "", "canary", "mysql://canary@db1/logs", "host=db1 password=canary",
            "postgresql://db1/logs?canary=1", "postgresql://db1/logs?canary",
            "postgresql://joe:%zz@db1/logs", "postgresql://[::1/canary",
            // A password with a character that is not encoded.
            "postgresql://joe:ca/nary@db1/logs", "postgresql://joe:1/canary@db1/logs",
            "postgresql://joe:x@canary@db1/logs", "postgresql://joe:/canary@db1/logs",
            "postgresql://joe:x,1/canary@db1/logs",
            "postgresql://db1:canary/logs", "postgresql://db1:0/logs",
            "postgresql://db1:70000/logs",
            "postgresql://db1/logs?sslmode=canary",
        ]
    )
    func refused(url: String) throws {
        let settings = PostgreSQLSettings(url: Secret(url), node: "a")
        #expect(settings.target == nil)
        let problem = try #require(PostgreSQLSettings.problem(ofURL: settings.url))
        #expect(!problem.contains("nary"), "\(problem)")
    }

    @Test("A problem says what is wrong")
    func problems() {
        func problem(_ url: String) -> String? { PostgreSQLSettings.problem(ofURL: Secret(url)) }
        #expect(problem("postgresql://joe:canary@db1/logs") == nil)
        #expect(problem("db1") == "does not begin with postgresql://")
        #expect(problem("postgresql://db1:x") == "is no connection URL of PostgreSQL")
        #expect(
            problem("postgresql://db1?sslmode=verify_full")
                == "has an sslmode that is not one of disable, allow, prefer, require, verify-ca, verify-full"
        )
    }
}
