import System
import Testing

@testable import SLS

@Suite struct PutLogsRequestTests {
    func put(
        _ endpoint: String,
        _ compression: Compression = .lz4,
        route: PutLogsRequest.Route = .balanced
    ) throws -> PutLogsRequest {
        PutLogsRequest(
            endpoint: try Endpoint(parsing: endpoint),
            project: "demo-project",
            logstore: "app-log",
            route: route,
            compression: compression,
            userAgent: "sluice/1.2"
        )
    }

    @Test("A v1 request carries exactly these headers")
    func headersV1() throws {
        let (url, headers) = try put("cn-hangzhou.log.aliyuncs.com").signed(
            body: [Vectors.lz4[...]],
            rawBytes: 132,
            by: Vectors.credential,
            .v1,
            at: Vectors.time
        )
        #expect(
            url
                == "https://demo-project.cn-hangzhou.log.aliyuncs.com/logstores/app-log/shards/lb"
        )
        #expect(
            headers == [
                .init("Host", "demo-project.cn-hangzhou.log.aliyuncs.com"),
                .init("Content-Type", "application/x-protobuf"),
                .init("User-Agent", "sluice/1.2"),
                .init("x-log-apiversion", "0.6.0"),
                .init("x-log-bodyrawsize", "132"),
                .init("x-log-compresstype", "lz4"),
                .init("Date", "Tue, 14 Jan 2025 08:30:00 GMT"),
                .init("Content-MD5", "63C4837D54D1D1F05B7A20C2A9AB7ACD"),
                .init("x-log-signaturemethod", "hmac-sha1"),
                .init("Authorization", "LOG testkeyid:2yTgKhHWhsbXcqM6GdKecUkWKZc="),
            ]
        )
    }

    @Test("A v4 request brings its hash and date instead of MD5 and Date")
    func headersV4() throws {
        let (_, headers) = try put("cn-hangzhou.log.aliyuncs.com").signed(
            body: [Vectors.lz4[...]],
            rawBytes: 132,
            by: Vectors.temporary,
            Vectors.v4,
            at: Vectors.time
        )
        #expect(
            headers.map(\.name) == [
                "Host", "Content-Type", "User-Agent", "x-log-apiversion", "x-log-bodyrawsize",
                "x-log-compresstype", "x-acs-security-token", "x-log-content-sha256",
                "x-log-date", "Authorization",
            ]
        )
    }

    @Test("Without compression nothing is said about it")
    func uncompressed() throws {
        let request = try put("cn-hangzhou.log.aliyuncs.com", .none).unsigned(rawBytes: 132)
        #expect(request.header("x-log-compresstype").isEmpty)
    }

    @Test("Where the host is an address the project travels in a signed header")
    func address() throws {
        let (url, headers) = try put("http://127.0.0.1:8099").signed(
            body: [Vectors.lz4[...]],
            rawBytes: 132,
            by: Vectors.credential,
            .v1,
            at: Vectors.time
        )
        #expect(url == "http://127.0.0.1:8099/logstores/app-log/shards/lb")
        #expect(headers.contains(.init("Host", "127.0.0.1:8099")))
        #expect(headers.contains(.init("x-log-project", "demo-project")))
        let request = SLSRequest(method: "POST", path: "/", headers: headers)
        #expect(SignatureV1.stringToSign(request).contains("\nx-log-project:demo-project\n"))
    }

    @Test("A hash route goes into the query, with or without a sequence number")
    func routed() throws {
        let key = "8a000000000000000000000000000000"
        #expect(
            try put("localhost", route: .hash(key: key)).unsigned(rawBytes: 1).target
                == "/logstores/app-log/shards/route?key=\(key)"
        )
        #expect(
            try put("localhost", route: .hash(key: key, sequence: 7)).unsigned(rawBytes: 1).target
                == "/logstores/app-log/shards/route?key=\(key)&seqid=7"
        )
    }
}
