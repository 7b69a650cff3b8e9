import Testing

@testable import Logs

/// RFC 8259 as a table, read as a log's value by both kinds of request that bring JSON.
@Suite struct JSONGrammarTests {
    let decoder = JSONLogDecoder()

    /// The places where a value may stand, each with what a log has of it there.
    private static let places:
        [(before: String, after: String, shown: @Sendable (String, String) -> String)] = [
            ("{\"v\":", "}", { value, _ in value }),
            ("{ \"v\" :\r\n\t", "\n, \"w\": 1 }", { value, _ in value }),
            ("{\"v\":[", "]}", { _, source in "[\(source)]" }),
            ("{\"v\":{\"w\":[[", "]]}}", { _, source in "{\"w\":[[\(source)]]}" }),
        ]

    /// The value of `v`, from a body of `/logs` and from one of web tracking, which must agree.
    private func read(_ body: [UInt8]) throws(LogDecodingError) -> String? {
        let plain: Result<EncodedLogs, LogDecodingError>
        do throws(LogDecodingError) { plain = .success(try decoder.plain(body)) } catch {
            plain = .failure(error)
        }
        let tracking = Array("{\"__logs__\":[".utf8) + body + Array("]}".utf8)
        let tracked: Result<EncodedLogs, LogDecodingError>
        do throws(LogDecodingError) {
            tracked = .success(try decoder.tracking(tracking).logs.sound)
        } catch { tracked = .failure(error) }
        switch (plain, tracked) {
        case (.success(let plain), .success(let tracked)):
            let values = [plain, tracked].map { (try? $0.read())?.first?.fields.first?.last }
            #expect(values[0] == values[1])
            return values[0]
        case (.failure(let error), .failure): throw error
        case (.success, .failure(let error)), (.failure(let error), .success):
            Issue.record("only one of the two refuses it: \(error)")
            throw error
        }
    }

    @Test("Every JSON value is read", arguments: JSONGrammar.valid)
    func valid(value: JSONGrammar.Valid) throws {
        for place in Self.places {
            let body = Array(place.before.utf8) + value.bytes + Array(place.after.utf8)
            let source = value.compact ?? String(decoding: value.bytes, as: UTF8.self)
            #expect(
                try read(body) == place.shown(value.text, source),
                "\(value.name), \(place.before)"
            )
        }
    }

    @Test("Text that is not JSON is refused wherever it stands", arguments: JSONGrammar.invalid)
    func invalid(value: JSONGrammar.Invalid) {
        for place in Self.places {
            let body = Array(place.before.utf8) + value.bytes + Array(place.after.utf8)
            #expect(throws: LogDecodingError.self, "\(value.name), \(place.before)") {
                try read(body)
            }
        }
    }

    @Test("Cases that RFC 8259 leaves open are decided", arguments: JSONGrammar.decided)
    func decided(value: JSONGrammar.Decided) throws {
        let body = Array("{\"v\":".utf8) + value.bytes + Array("}".utf8)
        guard let text = value.text else {
            #expect(throws: LogDecodingError.self, "\(value.name)") { try read(body) }
            return
        }
        #expect(try read(body) == text, "\(value.name)")
    }

    @Test("Each byte that is not UTF-8 is refused, in values, in names and between them")
    func defects() {
        for (name, bytes) in UTF8Defects.all {
            for (before, after) in [
                ("{\"v\":\"", "\"}"), ("{\"v\":\"0123456789abcdef", "0123456789abcdef\"}"),
                ("{\"", "\":1}"), ("{\"v\":[\"", "\"]}"), ("{\"v\":1", "}"), ("{\"v\":1}", ""),
            ] {
                let body = Array(before.utf8) + bytes + Array(after.utf8)
                #expect(throws: LogDecodingError.self, "\(name) after \(before)") { try read(body) }
            }
        }
    }

    @Test("Each character of UTF-8 at the ends of its range is a value")
    func characters() throws {
        for scalar in UTF8Defects.sound {
            let text = String(Character(scalar))
            #expect(try read(Array("{\"v\":\"\(text)\"}".utf8)) == text)
        }
    }

    /// Each value, cut at each of its bytes, at the end of a body.
    @Test("A truncated body is refused at every length")
    func parts() {
        for value in JSONGrammar.valid {
            let body = Array("{\"v\":".utf8) + value.bytes + Array("}".utf8)
            for count in 1..<body.count {
                #expect(throws: LogDecodingError.self, "\(value.name), \(count) bytes") {
                    try decoder.plain(Array(body[..<count]))
                }
            }
        }
    }
}
