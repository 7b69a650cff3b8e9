import HTTP
import Ingest
import Logs
import SLS
import System
import TestSupport
import Testing

@testable import Configuration

@Suite(.timeLimit(.minutes(10))) struct OriginTests {
    private static let own = "own-0123456789abcdef"
    private static let other = "other-0123456789abcdef"
    private static let track = "/logstores/app-log/track"
    private static let body = Array(#"{"a":1}"#.utf8)

    @Test(
        "An origin is allowed by its very text, or by a label in place of the star",
        arguments: [
            ("https://app.example.com", true), ("http://app.example.com", false),
            ("https://app.example.com:8443", false), ("https://APP.example.com", false),
            ("https://app.example.com.evil.com", false), ("https://a.web.example.com", true),
            ("https://web.example.com", false), ("https://.web.example.com", false),
            ("https://a.b.web.example.com", false), ("https://a/.web.example.com", false),
            ("https://evil.com#.web.example.com", false), ("https://a:1.web.example.com", false),
            ("https://x.local:3000", true), ("https://x.local", false), ("null", false),
            ("", false),
            ("*", false), ("https://*.web.example.com", false),
        ]
    )
    func list(origin: String, isAllowed: Bool) {
        let list = OriginList([
            "https://app.example.com", "https://*.web.example.com", "https://*.local:3000",
        ])
        #expect(list.allows(origin) == isAllowed)
        #expect(!list.isAny)
        #expect(OriginList(["https://a.b", "*"]).allows(origin))
        #expect(OriginList.union([list, OriginList(["null"])]).allows("null"))
        #expect(OriginList.union([list, .any]).isAny)
    }

    @Test(
        "What is no origin of a browser is a mistake with its remedy",
        arguments: [
            ("https://app.example.com", nil), ("https://App.example.com", nil), ("null", nil),
            ("*", nil), ("http://localhost:3000", nil), ("https://*.example.com", nil),
            ("capacitor://localhost", nil), ("http://[::1]:3000", nil),
            ("https://app.example.com/", "ends in a slash"),
            ("https://app.example.com/path", "is not an origin"),
            ("https://app.example.com:443", "leave it out"), ("http://a:80", "leave it out"),
            ("https://a:0", "is not an origin"), ("https://a:+1", "is not an origin"),
            ("https://a:99999", "is not an origin"), ("https://a:", "is not an origin"),
            ("app.example.com", "is not an origin"), ("https://", "is not an origin"),
            ("https://*", "the whole first label"), ("https://a*.example.com", "first label"),
            ("https://a.*.com", "first label"), ("https://*.", "is not an origin"),
            ("https://a b", "is not an origin"), ("https://user@host", "is not an origin"),
            ("://a", "is not an origin"), ("http://[127.0.0.1]", "v4 address in brackets"),
            ("http://[::ffff:1.2.3.4]", "v4 address in brackets"), ("Null", "is not an origin"),
        ]
    )
    func mistakes(text: String, problem: String?) {
        do throws(Mismatch) {
            let read = try Kind.origin.parse(text)
            #expect(problem == nil)
            #expect(read == text.lowercased())
        } catch {
            #expect(error.reason.contains(problem ?? "\0"), "\(error.reason)")
        }
    }

    private func end() throws -> DeviceListener {
        try DeviceListener(
            """
            devices:
              cors: { origins: ["https://app.example.com"] }
              keys:
                - { name: own, key: \(Self.own), origins: "https://*.example.org, null" }
                - { name: other, key: \(Self.other) }
            \(DeviceListener.twoDestinations)
            """
        )
    }

    /// A browser that sends credentials, as it does with each beacon, takes the origin itself and
    /// no star.
    @Test(
        "Without a list every origin may send, and read, also with credentials",
        arguments: ["POST", "OPTIONS"]
    )
    func open(method: String) throws {
        let end = try DeviceListener()
        for origin in ["https://any.example.net", "null"] {
            let body = method == "POST" ? Self.body : []
            let answer = try end.client.send(method, "/logs/x", body, ["origin": origin])
            #expect(answer.status == (method == "POST" ? 200 : 204))
            #expect(answer["access-control-allow-origin"] == origin)
            #expect(answer["access-control-allow-credentials"] == "true")
            #expect(answer["vary"] == "Origin")
        }
        // What no browser says of itself is not repeated.
        let long = String(repeating: "o", count: 301)
        for origin in [nil, "", "two words", long] {
            let fields = origin.map { ["origin": $0] as KeyValuePairs } ?? [:]
            let answer = try end.client.post("/logs/x", Self.body, fields)
            #expect(answer.status == 200)
            #expect(answer["access-control-allow-origin"] == "*")
            #expect(answer["access-control-allow-credentials"] == nil)
            #expect(answer["vary"] == "Origin")
        }
    }

    @Test("A preflight allows what tracing adds to each request, and what the operator lists")
    func headers() throws {
        let asked: KeyValuePairs = [
            "origin": "https://app.example.com", "access-control-request-method": "POST",
        ]
        func allowed(_ end: DeviceListener) throws -> Set<String> {
            let answer = try end.client.send("OPTIONS", "/logs/x", [], asked)
            let names = answer["access-control-allow-headers"] ?? ""
            return Set(names.split(separator: ", ").map(String.init))
        }
        let usual = try allowed(try DeviceListener())
        let tracing: Set = [
            "traceparent", "tracestate", "baggage", "sentry-trace", "x-requested-with",
        ]
        #expect(usual.isSuperset(of: tracing))
        #expect(usual.isSuperset(of: ["content-type", "x-sluice-key", "idempotency-key"]))
        let end = try DeviceListener(
            "devices: { cors: { headers: [X-App-Version, baggage] } }\n\(DeviceListener.twoDestinations)"
        )
        #expect(try allowed(end) == usual.union(["x-app-version"]))
        // A reload takes another list at once.
        end.shared.door.replace(DeviceSettings())
        #expect(try allowed(end) == usual)
    }

    @Test(
        "A page sends where its origin is allowed, by the key's own list before that for all",
        arguments: [
            (other, "https://app.example.com", 200, true),
            (own, "https://a.example.org", 200, true), (own, "null", 200, true),
            (own, "https://app.example.com", 403, true),
            (other, "https://a.example.org", 403, true),
            (other, "https://evil.example.net", 403, false),
            ("wrong-0123456789abcdef", "https://app.example.com", 401, true),
            ("wrong-0123456789abcdef", "https://evil.example.net", 401, false),
        ]
    )
    func pages(key: String, origin: String, status: Int, mayRead: Bool) throws {
        let end = try end()
        let fields: KeyValuePairs = ["x-sluice-key": key, "origin": origin]
        let answer = try end.client.post("/logs/x", Self.body, fields)
        #expect(answer.status == status, "\(answer.text)")
        #expect(answer["access-control-allow-origin"] == (mayRead ? origin : nil))
        #expect(answer["access-control-allow-credentials"] == (mayRead ? "true" : nil))
        #expect(answer["vary"] == "Origin")
        if status == 403 {
            #expect(answer.text.contains(#""code":"Unauthorized","message":"pages of \#(origin)"#))
            // The body never comes.
            let early: KeyValuePairs = [
                "x-sluice-key": key, "origin": origin, "content-length": "9",
            ]
            let sls = try end.client.post(Self.track, "".utf8, early)
            #expect(sls.status == 401)
            #expect(sls.text.hasPrefix(#"{"errorCode":"Unauthorized","#), "\(sls.text)")
            #expect(sls.body.count <= 255)
            let counts = end.shared.door.counts.map { $0.refused[.origin] }
            #expect(counts == (key == Self.own ? [2, 0] : [0, 2]))
        }
        #expect(end.queue.identities.count == (status == 200 ? 1 : 0))
    }

    @Test("Who says no origin is not asked for one")
    func noOrigin() throws {
        let end = try end()
        let pixel = try end.client.get(Self.track + ".gif?a=b&key=\(Self.own)")
        #expect(pixel.status == 200)
        #expect(pixel["access-control-allow-origin"] == nil)
        #expect(pixel["vary"] == "Origin")
    }

    @Test(
        "A preflight has no key, and is answered for all lists together",
        arguments: [
            ("https://app.example.com", 204), ("https://b.example.org", 204), ("null", 204),
            ("https://evil.example.net", 403), (nil, 204),
        ]
    )
    func preflight(origin: String?, status: Int) throws {
        let end = try end()
        let fields = origin.map { ["origin": $0] as KeyValuePairs } ?? [:]
        let answer = try end.client.send("OPTIONS", "/logs/x", [], fields)
        #expect(answer.status == status)
        let isAllowed = status == 204 && origin != nil
        #expect(answer["access-control-allow-origin"] == (isAllowed ? origin : nil))
        #expect(answer["vary"] == "Origin")
        #expect((answer["access-control-allow-methods"] != nil) == (status == 204))
    }
}
