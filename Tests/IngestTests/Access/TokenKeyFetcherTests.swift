import Crypto
import HTTP
import Net
import SLS
import System
import TestConfiguration
import TestHTTP
import TestSupport
import Testing
import Tokens

@testable import Configuration
@testable import Ingest

/// Keys that an issuer publishes over https, from a server of the test's own.
@Suite(.timeLimit(.minutes(10))) struct TokenKeyFetcherTests {
    private static let made = TestCertificates.shared

    private static let (first, second) = (TokenIssuer("issuer-1"), TokenIssuer("issuer-2"))

    private func source(_ server: RecordingServer) -> TokenKeySource {
        TokenKeySource(
            name: "login",
            url: "\(server.url)/jwks.json",
            authorities: Self.made.certificate("authority")
        )
    }

    private var quick: TokenKeyFetcher.Pace {
        TokenKeyFetcher.Pace(
            unknownPause: .milliseconds(50),
            firstRetry: .milliseconds(20),
            retryMax: .milliseconds(50)
        )
    }

    @Test("Two issuers may give their keys one name, and tokens of both are good")
    func sameName() throws {
        let issuers = ["twin-1", "twin-2", "twin-3"].map { TokenIssuer($0, naming: "1") }
        let sets = try issuers[..<2].map { issuer in
            let keys = FetchedTokenKeys {}
            let text = #"{"keys":[\#(issuer.published)]}"#
            _ = keys.take(try TokenKeySet(Array(text.utf8), .rs256), began: .now, at: .now)
            return keys
        }
        let rules = TokenRules(algorithm: .rs256, keys: [])
        func place(_ issuer: TokenIssuer) throws -> Int {
            let token = Array(try issuer.token().utf8)
            return try rules.verify(token[...], at: .now, fetched: sets).key
        }
        #expect(try place(issuers[0]) == 0)
        #expect(try place(issuers[1]) == 1)
        #expect(throws: TokenProblem.untrusted) { try place(issuers[2]) }
    }

    @Test("A key that nobody knows is asked for, and old ones stay while the issuer is away")
    func rotation() throws {
        let response = Locked<Response?>(TokenIssuer.keySet(Self.first))
        let server = try TokenIssuer.server { response.withLock { $0 } ?? Response(status: 503) }
        defer { server.stop() }
        let fetcher = try TokenKeyFetcher(source(server), .rs256, pace: quick)
        try fetcher.start(.silent)
        defer { fetcher.stop() }
        let memory = TokenMemory(TokenRules(algorithm: .rs256, keys: []), fetched: [fetcher.keys])
        func problem(_ token: String) -> TokenProblem? {
            do throws(TokenProblem) {
                _ = try memory.verify(Array(token.utf8)[...], at: .now)
                return nil
            } catch {
                return error
            }
        }
        let (old, new) = (try Self.first.token(), try Self.second.token())
        #expect(eventually { problem(old) == nil })
        let before = server.requests.count
        response.withLock { $0 = TokenIssuer.keySet(Self.first, Self.second) }
        #expect(problem(new) == .keysAwaited)
        #expect(eventually { problem(new) == nil })
        #expect(server.requests.count == before + 1)
        // The issuer takes the first back and is gone: a token of it counts until then, and no
        // longer.
        response.withLock { $0 = TokenIssuer.keySet(Self.second) }
        let stranger = try TokenIssuer("issuer-3").token()
        #expect(problem(stranger) == .keysAwaited)
        #expect(eventually { problem(stranger) == .untrusted })
        #expect(problem(old) != nil)
        response.withLock { $0 = nil }
        let another = try TokenIssuer("issuer-4").token()
        #expect(problem(another) == .keysAwaited)
        #expect(eventually { fetcher.keys.status.failures > 0 })
        #expect(problem(new) == nil)
        #expect(problem(another) == .keysAwaited)
    }

    @Test("What cannot be trusted or used is a failure with a reason")
    func failures() throws {
        let response = Locked(Response(status: 200, contentType: "application/json", text: "[]"))
        let server = try TokenIssuer.server { response.withLock { $0 } }
        defer { server.stop() }
        var untrusting = source(server)
        untrusting.authorities = Self.made.certificate("stranger")
        for (source, body, reason) in [
            (untrusting, "", "certificate"), (source(server), "[]", "is not a JSON Web Key Set"),
            (source(server), #"{"keys":[]}"#, "has no key for RS256"),
            (source(server), String(repeating: " ", count: 70_000), "larger than 64 KiB"),
        ] {
            response.withLock {
                $0 = Response(status: 200, contentType: "application/json", text: body)
            }
            let fetcher = try TokenKeyFetcher(source, .rs256, pace: quick)
            try fetcher.start(.silent)
            #expect(
                eventually { fetcher.keys.status.problem?.contains(reason) == true },
                "\(reason)"
            )
            fetcher.stop()
        }
    }

    @Test("A stop does not wait for an issuer that says nothing")
    func stop() throws {
        let server = try TokenIssuer.server { nil }
        defer { server.stop() }
        let fetcher = try TokenKeyFetcher(source(server), .rs256, pace: TokenKeyFetcher.Pace())
        try fetcher.start(.silent)
        #expect(eventually { !server.requests.isEmpty })
        let start = Moment.now
        fetcher.stop()
        #expect(Moment.now - start < .seconds(5).calibrated())
        #expect(fetcher.keys.status.failures == 0)
    }

    private func jwt(_ text: String) throws -> DeviceTokens? {
        try read(
            minimal + "devices: { jwt: { \(text) } }\n",
            ["ALIBABA_CLOUD_ACCESS_KEY_ID": "i", "ALIBABA_CLOUD_ACCESS_KEY_SECRET": "s"]
        ).devices.tokens
    }

    @Test("An entry with keys_url stands beside others, and is called after its host")
    func settings() throws {
        let read = try #require(
            try jwt(
                """
                algorithm: RS256, keys: [
                { keys_url: "https://login.example.com/jwks?v=1", refresh: 5m, destinations: [app] },
                { keys_url: "https://login.example.com:8443/jwks", name: other, rate: 5/s }]
                """
            )
        )
        #expect(read.names == ["jwt:login.example.com", "jwt:other"])
        #expect(read.sources.map(\.refresh) == [.seconds(300), .seconds(600)])
        #expect(read.sources[0].place == "https://login.example.com/jwks")
        #expect(read.senders.map(\.destinations) == [["app"], nil])
    }

    @Test(
        "Mistakes are told with key and remedy",
        arguments: [
            ("RS256", "{keys_url: 'http://a/b'}", "keys[0].keys_url: is not an https"),
            ("RS256", "{keys_url: 'https://u@a/b'}", "keys[0].keys_url: is not an"),
            ("HS256", "{keys_url: 'https://a/b'}", "keys[0].keys_url: is of no use"),
            ("RS256", "{keys_url: 'https://a/', kid: a}", "keys[0].kid: is of no"),
            ("RS256", "{keys_url: 'https://[::1]/'}", "keys[0].name: is missing"),
            (
                "RS256", "{keys_url: 'https://a/'}, {keys_url: 'https://a/b'}",
                "keys[1].name: a is in the list already"
            ),
            (
                "RS256", "{keys_url: 'https://a/', ca_file: /none}",
                "keys[0].ca_file: /none cannot be read"
            ),
            ("RS256", "{keys_url: 'https://a/', refresh: 1s}", "refresh: 1s is not"),
        ]
    )
    func mistakes(algorithm: String, keys: String, problem: String) {
        let error = #expect(throws: ConfigurationProblems.self) {
            _ = try jwt("algorithm: \(algorithm), keys: [\(keys)]")
        }
        #expect(error?.description.contains(problem) == true, "\(String(describing: error))")
    }
}
