import Crypto
import System
import Testing

@testable import SLS

@Suite struct SignatureV1Tests {
    static let date = "Tue, 14 Jan 2025 08:30:00 GMT"

    @Test("A compressed packet for any shard")
    func balanced() {
        let request = Vectors.put(.balanced, .lz4)
            .signed(by: Vectors.credential, .v1, body: Vectors.lz4, at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "POST\n63C4837D54D1D1F05B7A20C2A9AB7ACD\napplication/x-protobuf\n\(Self.date)\n"
                + "x-log-apiversion:0.6.0\nx-log-bodyrawsize:132\nx-log-compresstype:lz4\n"
                + "x-log-signaturemethod:hmac-sha1\n/logstores/app-log/shards/lb"
        )
        #expect(request.header("authorization") == "LOG testkeyid:2yTgKhHWhsbXcqM6GdKecUkWKZc=")
    }

    @Test("A plain packet for one shard, with a sequence number")
    func routed() {
        let request = Vectors.put(Vectors.route, .none)
            .signed(by: Vectors.credential, .v1, body: Vectors.raw, at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "POST\n47651B3A52D197A22E9A41A8A8EA5C75\napplication/x-protobuf\n\(Self.date)\n"
                + "x-log-apiversion:0.6.0\nx-log-bodyrawsize:132\nx-log-signaturemethod:hmac-sha1\n"
                + "/logstores/app-log/shards/route?key=8a000000000000000000000000000000&seqid=7"
        )
        #expect(request.header("authorization") == "LOG testkeyid:yRcESafkhWd2iPNc1hECix+/mBA=")
    }

    @Test("A security token is signed before all other headers")
    func securityToken() {
        let request = Vectors.put(.balanced, .lz4)
            .signed(by: Vectors.temporary, .v1, body: Vectors.lz4, at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                .contains("GMT\nx-acs-security-token:test/sts+token==\nx-log-apiversion")
        )
        #expect(
            request.header("authorization") == "LOG STS.testkeyid:sDPGtvdEE3V2QFShkhMBZ+kq0RY="
        )
    }

    @Test("A request without a body signs its query decoded")
    func get() {
        let request = Vectors.get(query: [("size", "100"), ("offset", "0")])
            .signed(by: Vectors.credential, .v1, body: [], at: Vectors.time)
        #expect(
            SignatureV1.stringToSign(request)
                == "GET\n\n\n\(Self.date)\nx-log-apiversion:0.6.0\nx-log-bodyrawsize:0\n"
                + "x-log-signaturemethod:hmac-sha1\n"
                + "/logstores?logstoreName=a b/c~*+&offset=0&size=100"
        )
        #expect(request.header("authorization") == "LOG testkeyid:yn+yOiBCjtsRjlQaTlE+UQwNVoI=")
    }

    @Test(
        "The vectors of SLS's Go SDK",
        arguments: [
            ("/logstores", [], "0", "Rwm6cTKzoti4HWoe+GKcb6Kv07E="),
            ("/logstores/app_log", Vectors.sdk, "50", "87xQWqFaOSewqRIma8kPjGYlXHc="),
        ]
    )
    func sdk(path: String, body: [UInt8], rawBytes: String, signature: String) {
        var request = SLSRequest(method: "GET", path: path)
        request.headers = [
            .init("x-log-apiversion", "0.6.0"),
            .init("x-log-signaturemethod", "hmac-sha1"),
            .init("x-log-bodyrawsize", rawBytes),
            .init("Date", "Mon, 3 Jan 2010 08:33:47 GMT"),
        ]
        if !body.isEmpty {
            request.headers.append(.init("Content-Type", "application/x-protobuf"))
            request.headers.append(.init("Content-MD5", Digest.md5Hex(body)))
        }
        let credential = Credential(
            accessKeyID: "mockAccessKeyID",
            secret: Secret("mockAccessKeySecret")
        )
        #expect(
            SignatureV1.authorization(of: request, by: credential)
                == "LOG mockAccessKeyID:\(signature)"
        )
    }
}
