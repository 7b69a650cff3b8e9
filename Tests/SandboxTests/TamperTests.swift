import HTTP
import Logs
import System
import TestSupport
import Testing

@testable import Sandbox

/// What was changed on the way must not pass.
@Suite struct TamperTests {
    static let versions = [TestWrite.Version.v1, .v4]

    private let sandbox: Sandbox

    init() throws { sandbox = try Sandbox.forTests() }

    private func write(_ version: TestWrite.Version) -> TestWrite {
        var write = TestWrite()
        write.version = version
        write.path = "/logstores/app-log/shards/route"
        write.query = "key=8a000000000000000000000000000000"
        write.raw = Vectors.raw
        write.compression = .lz4
        write.credential = TestWrite.stsKey
        return write
    }

    /// Says again what was signed, with one thing changed.
    private func request(
        _ signed: ReceivedRequest,
        path: String? = nil,
        query: String = "key=8a000000000000000000000000000000",
        fields: [ReceivedRequest.Field]? = nil
    ) throws -> ReceivedRequest {
        try ReceivedRequest(
            method: signed.method,
            path: path ?? signed.path,
            query: query,
            fields: (fields ?? signed.fields).map { ($0.name, $0.value) }
        )
    }

    @Test("What is signed rightly passes", arguments: versions)
    func untouched(_ version: TestWrite.Version) throws {
        #expect(try Sandbox.forTests().put(write(version)).status == 200)
    }

    @Test("Any wrong letter of the signature is noticed", arguments: versions)
    func signature(_ version: TestWrite.Version) throws {
        let write = write(version)
        let signed = try write.signed()
        let value = Array(try #require(signed["authorization"]).utf8)
        for index in value.indices {
            var changed = value
            changed[index] =
                value[index] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
            let fields = signed.fields.map {
                $0.name == "authorization"
                    ? .init(name: $0.name, value: String(decoding: changed, as: UTF8.self)) : $0
            }
            let answer = sandbox.answer(try request(signed, fields: fields), bytes: write.body)
            #expect([400, 401].contains(answer.response.status), "letter \(index)")
        }
    }

    @Test("A change of any signed header is noticed", arguments: versions)
    func headers(_ version: TestWrite.Version) throws {
        let write = write(version)
        let signed = try write.signed()
        for (index, field) in signed.fields.enumerated() where field.name != "content-length" {
            // Only v4 signs the host; v1 leaves it to TLS.
            if version == .v1, field.name == "host" { continue }
            for value in [field.value + "x", String(field.value.dropLast()), ""] {
                var fields = signed.fields
                fields[index] = .init(name: field.name, value: value)
                let answer = sandbox.answer(try request(signed, fields: fields), bytes: write.body)
                #expect(answer.response.status >= 400, "\(field.name): \(value)")
            }
            var fields = signed.fields
            fields.remove(at: index)
            let answer = sandbox.answer(try request(signed, fields: fields), bytes: write.body)
            #expect(answer.response.status >= 400, "without \(field.name)")
        }
    }

    @Test("A header that was added or repeated on the way is noticed", arguments: versions)
    func additions(_ version: TestWrite.Version) throws {
        let write = write(version)
        let signed = try write.signed()
        for field in [
            ReceivedRequest.Field(name: "x-log-project", value: "demo-project"),
            .init(name: "x-acs-anything", value: ""),
            .init(name: "x-log-apiversion", value: "0.6.0"),
        ] {
            let changed = try request(signed, fields: signed.fields + [field])
            #expect(sandbox.answer(changed, bytes: write.body).response.status >= 400)
        }
        let harmless = ReceivedRequest.Field(name: "x-forwarded-for", value: "192.0.2.1")
        let same = try request(signed, fields: signed.fields + [harmless])
        #expect(sandbox.answer(same, bytes: write.body).response.status == 200)
    }

    @Test("A change of path or query is noticed", arguments: versions)
    func target(_ version: TestWrite.Version) throws {
        let write = write(version)
        let signed = try write.signed()
        let path = try request(signed, path: "/logstores/other-log/shards/route")
        #expect(sandbox.answer(path, bytes: write.body).response.errorCode == "SignatureNotMatch")
        for query in [
            "key=8b000000000000000000000000000000", "key=8a000000000000000000000000000000&seqid=1",
        ] {
            let changed = try request(signed, query: query)
            let response = sandbox.answer(changed, bytes: write.body).response
            #expect(response.errorCode == "SignatureNotMatch")
        }
    }

    @Test("A change of any byte of the body is noticed", arguments: versions)
    func body(_ version: TestWrite.Version) throws {
        let write = write(version)
        let signed = try write.signed()
        for index in write.body.indices {
            var changed = write.body
            changed[index] ^= 0x01
            let response = sandbox.answer(signed, bytes: changed).response
            #expect(response.status == 400, "byte \(index)")
            #expect(response.errorCode == "ParameterInvalid", "byte \(index)")
        }
    }
}
