import Configuration
import Crypto
import HTTP
import SLS
import System
import Testing

@testable import Ingest

/// The vectors that the official SDK gave, as requests that come in.
@Suite struct SLSSignatureTests {
    static let time = WallTime(seconds: 1_736_843_400)
    static let http = "Tue, 14 Jan 2025 08:30:00 GMT"
    static let compact = "20250114T083000Z"
    static let host = "demo-project.cn-hangzhou.log.aliyuncs.com"
    static let lz4MD5 = "63C4837D54D1D1F05B7A20C2A9AB7ACD"
    static let rawMD5 = "47651B3A52D197A22E9A41A8A8EA5C75"
    static let lz4SHA = "6b82e14c100e5cf6cf89ae1cb9df3f15f3d6e30d5f239a05474105544f0993d6"
    static let rawSHA = "de1706ec2a03415684a878c7418d86426ae5e452045206ff10ec3b7bfe5be019"
    static let emptySHA = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    static let route =
        "/logstores/app-log/shards/route?key=8a000000000000000000000000000000&seqid=7"

    struct Vector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let line: String
        var id = "testkeyid"
        var secret = "testkeysecret"
        let fields: [(String, String)]
        let signature: String
        /// Nil in version 1.
        var scope: String?

        func head(
            at arrival: WallTime = SLSSignatureTests.time,
            _ change: (inout [(String, String)]) -> Void = { _ in }
        ) -> RequestHead {
            let authorization =
                if let scope {
                    "SLS4-HMAC-SHA256 Credential=\(id)/\(scope),Signature=\(signature)"
                } else {
                    "LOG \(id):\(signature)"
                }
            var fields = fields + [("Authorization", authorization), ("User-Agent", "sdk")]
            change(&fields)
            return .made(line, fields, at: arrival)
        }

        var keys: DeviceKeys {
            var key = DeviceKey(name: "sdk", secret: Secret(secret))
            key.accessKeyID = id
            return .made([DeviceKey(name: "other", secret: Secret("other-0123456789")), key])
        }
    }

    private static func v1(
        _ name: String,
        _ line: String,
        md5: String?,
        raw: Int = 132,
        _ more: [(String, String)],
        _ signature: String
    ) -> Vector {
        var fields = [
            ("Host", host), ("Date", http), ("x-log-apiversion", "0.6.0"),
            ("X-Log-SignatureMethod", "hmac-sha1"), ("x-log-bodyrawsize", "\(raw)"),
        ]
        if let md5 {
            fields += [
                ("Content-MD5", md5), ("Content-Type", "application/x-protobuf"),
                ("Content-Length", "133"),
            ]
        }
        return Vector(
            testDescription: name,
            line: line,
            fields: fields + more,
            signature: signature
        )
    }

    private static func v4(
        _ name: String,
        _ line: String,
        sha: String,
        raw: Int = 132,
        _ more: [(String, String)],
        _ signature: String
    ) -> Vector {
        let fields = [
            ("x-log-date", compact), ("Host", host), ("x-log-apiversion", "0.6.0"),
            ("x-log-content-sha256", sha), ("x-log-bodyrawsize", "\(raw)"),
            ("x-log-meta-other", "unsigned"),
        ]
        return Vector(
            testDescription: name,
            line: line,
            fields: fields + more,
            signature: signature,
            scope: "20250114/cn-hangzhou/sls/aliyun_v4_request"
        )
    }

    private static func temporary(_ vector: Vector, _ name: String, _ signature: String) -> Vector {
        Vector(
            testDescription: name,
            line: vector.line,
            id: "STS.testkeyid",
            secret: "testststkeysecret",
            fields: vector.fields + [("x-acs-security-token", "test/sts+token==")],
            signature: signature,
            scope: vector.scope
        )
    }

    private static let balanced = "POST /logstores/app-log/shards/lb"
    private static let lz4 = [("x-log-compresstype", "lz4")]
    private static let type = [("Content-Type", "application/x-protobuf")]
    private static let v1a = v1(
        "v1, any shard",
        balanced,
        md5: lz4MD5,
        lz4,
        "2yTgKhHWhsbXcqM6GdKecUkWKZc="
    )
    private static let v4a = v4(
        "v4, any shard",
        balanced,
        sha: lz4SHA,
        lz4 + type,
        "c13326b57302998958d48a8bf8beae586128c540f14f508b9881b55184bb3ccb"
    )

    static let vectors = [
        v1a,
        v1("v1, one shard", "POST \(route)", md5: rawMD5, [], "yRcESafkhWd2iPNc1hECix+/mBA="),
        temporary(v1a, "v1 with a token", "sDPGtvdEE3V2QFShkhMBZ+kq0RY="),
        v1(
            "v1, GET",
            "GET /logstores?size=100&logstoreName=a+b/c~*%2B&offset=0",
            md5: nil,
            raw: 0,
            [],
            "yn+yOiBCjtsRjlQaTlE+UQwNVoI="
        ),
        v4a,
        v4(
            "v4, one shard",
            "POST \(route)",
            sha: rawSHA,
            type,
            "f30bdf246ff7ecf4d35db22876f1fc931edaf16473506435ae4ee951820a6db0"
        ),
        temporary(
            v4a,
            "v4 with a token",
            "ee34efa8e0c9eeb920d14ec7225f78e968d84f7e1fa7a28d7e6a74345f5d2db9"
        ),
        v4(
            "v4, GET",
            "GET /logstores?type=&size=100&logstoreName=a%20b%2Fc~%2A%2b&offset=0",
            sha: emptySHA,
            raw: 0,
            [],
            "e9bf5f84ba73fb24105fe12f82e09d47b03f3b33c663745b16a4eeaf10bcbc5f"
        ),
    ]

    @Test("Each vector is its sender's, and asks for the body that was signed", arguments: vectors)
    func right(vector: Vector) throws {
        let proven = try #require(try vector.keys.proven(vector.head()))
        #expect(proven.sender.name == "sdk")
        let asked =
            switch proven.body {
            case .md5(let digest): hex(digest, upper: true)
            case .sha256(let digest): hex(digest)
            case nil: ""
            }
        let expected = vector.fields.first {
            $0.0 == (vector.scope == nil ? "Content-MD5" : "x-log-content-sha256")
        }
        #expect(asked == expected?.1 ?? "")
    }

    @Test("Anything else that is signed breaks the signature", arguments: vectors)
    func changed(vector: Vector) {
        let keys = vector.keys
        for index in vector.fields.indices {
            let name = vector.fields[index].0.lowercased()
            let isSigned =
                name.hasPrefix("x-") && !name.hasPrefix("x-log-meta-") || name == "content-type"
                || name == (vector.scope == nil ? "content-md5" : "host")
            let found = problem(keys, vector.head { $0[index].1 += "0" })
            #expect((found != nil) == (isSigned || name == "date"), "\(name)")
        }
        #expect(problem(keys, vector.head { $0.append(("x-log-more", "1")) }) == .badSignature)
        #expect(problem(keys, vector.head { $0.append(("X-Acs-More", "")) }) == .badSignature)
        for line in ["\(vector.line)x", "PUT \(vector.line.split(separator: " ")[1])"] {
            let other = Vector(
                testDescription: "",
                line: line,
                id: vector.id,
                secret: vector.secret,
                fields: vector.fields,
                signature: vector.signature,
                scope: vector.scope
            )
            #expect(problem(keys, other.head()) == .badSignature, "\(line)")
        }
    }

    @Test("No mutation of the header passes, and none that leaves the id means another key")
    func mutations() {
        for vector in [Self.v1a, Self.v4a] {
            let keys = vector.keys
            let right = vector.head()
            let place = right.fieldRange("authorization") ?? 0..<0
            let text = Array(right.bytes[place])
            for index in text.indices {
                for byte in [text[index] ^ 1, text[index] ^ 0x20, UInt8(ascii: ":")]
                where byte != text[index] {
                    var changed = text
                    changed[index] = byte
                    let value = String(decoding: changed, as: UTF8.self)
                    let found = problem(keys, vector.head { $0[$0.count - 2].1 = value })
                    #expect(found != nil, "\(value)")
                }
                let start = String(decoding: text[..<index], as: UTF8.self)
                #expect(problem(keys, vector.head { $0[$0.count - 2].1 = start }) != nil)
            }
        }
    }

    @Test("The clock may be 15 minutes off, either way")
    func clock() {
        for vector in Self.vectors {
            for (offset, expected) in [
                (-900, nil), (900, nil), (-901, AccessProblem.wrongClock), (901, .wrongClock),
                (1 << 40, .wrongClock),
            ] {
                let arrival = WallTime(seconds: Self.time.seconds + Int64(offset))
                #expect(problem(vector.keys, vector.head(at: arrival)) == expected, "\(offset)")
            }
        }
        #expect(AccessProblem.wrongClock.refusal.code == "RequestTimeExpired")
        #expect(AccessProblem.wrongClock.refusal.status == 400)
    }

    @Test("What a page signs has its date in a header of SLS's")
    func pages() throws {
        var request = SLSRequest(method: "POST", path: "/logstores/app-log")
        request.headers = [.init("x-log-apiversion", "0.6.0"), .init("Date", Self.http)]
        let credential = Credential(accessKeyID: "id-of-a-page", secret: Secret("0123456789abcdef"))
        let authorization = SignatureV1.authorization(of: request, by: credential)
        var key = DeviceKey(name: "page", secret: credential.secret)
        key.accessKeyID = "id-of-a-page"
        let fields = [
            ("authorization", authorization), ("x-log-date", Self.http),
            ("x-log-apiversion", "0.6.0"), ("date", "never"),
        ]
        let line = "POST /logstores/app-log"
        let proven = try DeviceKeys.made([key]).proven(.made(line, fields, at: Self.time))
        #expect(proven?.sender.name == "page")
        // The body would be anybody's.
        let open = fields + [("content-length", "1")]
        #expect(problem(.made([key]), .made(line, open, at: Self.time)) == .badSignature)
        let chunked = fields + [("transfer-encoding", "chunked")]
        #expect(problem(.made([key]), .made(line, chunked, at: Self.time)) == .badSignature)
    }

    @Test("A query as long as a head allows is signed in a moment, and a broken one by nobody")
    func longQuery() {
        let keys = Self.v1a.keys
        for query in [
            String(repeating: "&", count: 8000), String(repeating: "a&", count: 4000),
            String(repeating: "%41=%20&", count: 1000), "%", "%4", "%zz", "a=%", "a=%4%41",
        ] {
            for vector in [Self.v1a, Self.v4a] {
                let head = RequestHead.made(
                    "POST /logstores/app-log/shards/lb?\(query)",
                    vector.head().fields.map { field in
                        let bytes = vector.head().bytes
                        return (
                            String(decoding: bytes[field.name], as: UTF8.self),
                            String(decoding: bytes[field.value], as: UTF8.self)
                        )
                    },
                    at: Self.time
                )
                let isEmpty = query.allSatisfy { $0 == "&" }
                #expect(problem(keys, head) == (isEmpty ? nil : .badSignature))
            }
        }
    }

    @Test("A body that is not the signed one is nobody's")
    func bodies() {
        for (proof, body) in [
            (BodyProof.md5(Digest.md5([1, 2, 3])), [1, 2, 3]),
            (.sha256(Digest.sha256([])), []),
        ] as [(BodyProof, [UInt8])] {
            #expect(mismatch(proof, body) == nil)
            #expect(mismatch(proof, body + [4]) == .wrongBody)
        }
    }

    private func mismatch(_ proof: BodyProof, _ body: [UInt8]) -> AccessProblem? {
        body.withUnsafeBytes { bytes in
            do throws(AccessProblem) {
                try proof.check(bytes)
                return nil
            } catch {
                return error
            }
        }
    }
}
