import Configuration
import Foundation
import TestSupport
import Testing

@testable import Ingest

/// docs/openapi-devices.json, compared with the listener. `make check-api` compares its answers.
@Suite(.timeLimit(.minutes(10))) struct DeviceDocumentTests {
    private typealias Object = [String: Any]

    private let text: String
    private let document: Object
    /// By path and method.
    private let operations: [String: [String: Object]]

    init() throws {
        text = try Self.text("docs/openapi-devices.json")
        document = try Self.object(text)
        operations = try #require(document["paths"] as? [String: [String: Object]])
    }

    private static func text(_ file: String) throws -> String {
        try String(contentsOfFile: repositoryFile(file), encoding: .utf8)
    }

    private static func object(_ text: String) throws -> Object {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? Object)
    }

    /// A part of the document; references are followed.
    private func part(_ path: String, of whole: Object? = nil) throws -> Object {
        var part = whole ?? document
        for name in path.split(separator: "/") {
            part = try #require(part[String(name)] as? Object, "\(path)")
            if let reference = part["$ref"] as? String {
                part = try self.part(String(reference.dropFirst(2)))
            }
        }
        return part
    }

    private func parameters(of operation: Object) throws -> [Object] {
        try (operation["parameters"] as? [Object] ?? []).map { parameter in
            let reference = try #require(parameter["$ref"] as? String)
            return try part(String(reference.dropFirst(2)))
        }
    }

    /// The documented path of a request.
    private func template(of path: String) -> String? {
        let segments = path.split(separator: "/")
        let fitting = operations.keys.filter { template in
            let names = template.split(separator: "/")
            return names.count == segments.count
                && zip(names, segments).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
        return fitting.min { $0.split(separator: "{").count < $1.split(separator: "{").count }
    }

    @Test("Each path of the document answers to its methods, and to no others")
    func methods() throws {
        let end = try DeviceListener()
        #expect(operations.count > 20)
        for (template, methods) in operations {
            let path = template.replacing(/\{[a-z]+\}/, with: "app")
            let answer = try end.client.send("DELETE", path)
            #expect(answer.status == 405, "\(path)")
            let known = Set((answer["allow"] ?? "").split(separator: ", ").map { $0.lowercased() })
            #expect(Set(methods.keys) == known.subtracting(["options"]), "\(path)")
        }
        let met = Set(end.shared.counters.refused.map(\.kind.route))
        #expect(met == Set(DeviceLabel.names).subtracting(["other"]))
    }

    @Test("Every path that the dialects recognise is in the document")
    func paths() throws {
        let folder = repositoryFile("Sources/Ingest/Dialects")
        var literals: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let source = try Self.text("Sources/Ingest/Dialects/\(file)")
            literals.formUnion(source.matches(of: /"(\/[^"\s]*)"/).map { String($0.1) })
        }
        #expect(literals.count > 25)
        let unknown = literals.filter { literal in
            !operations.keys.contains { $0.contains(literal) }
        }
        #expect(unknown.sorted() == [], "not in docs/openapi-devices.json")
    }

    @Test("Each refusal of the table has its status in the document", arguments: BadRequest.table)
    func statuses(request: BadRequest) throws {
        guard request.code != "PathNotExist", request.code != "InvalidMethod" else { return }
        let path = String(request.path.prefix { $0 != "?" })
        let template = try #require(self.template(of: path), "\(path)")
        let operation = try #require(operations[template]?[request.method.lowercased()])
        let statuses = try part("responses", of: operation).keys
        #expect(statuses.contains("\(request.status)"), "\(request.method) \(template)")
    }

    @Test("The document lists the codes, encodings and names that the listener uses")
    func lists() throws {
        let files = try #require(
            FileManager.default.enumerator(atPath: repositoryFile("Sources/Ingest"))
        ).compactMap { $0 as? String }.map { "Sources/Ingest/\($0)" }.filter {
            // Answers to operators.
            $0.hasSuffix(".swift") && !$0.hasSuffix("CaptureResender.swift")
        }
        var codes: Set = ["Unauthorized"]
        for file in files + ["Sources/HTTP/HTTPProblem.swift"] {
            // A word of two capitals at least.
            let found = try Self.text(file).matches(of: /"((?:[A-Z][a-z]+|MD5){2,})"/)
            codes.formUnion(found.map { String($0.1) })
        }
        let listed = try part("components/schemas/Code")["enum"] as? [String]
        #expect(listed == codes.sorted())
        let encodings = try part("components/parameters/ContentEncoding/schema")["enum"]
        #expect(
            Set(try #require(encodings as? [String]))
                == Set(BodyDecoder.contentEncodings.split(separator: ", ").map(String.init))
        )
        let plain = try parameters(of: #require(operations["/logs/{tag}"]?["post"]))
        let names = plain.filter { $0["in"] as? String == "query" }.map { $0["name"] as? String }
        #expect(Set(names) == PlainQuery.names.union(["on_error"]))
    }

    @Test("Answers that make clients keep their logs say so, and no others")
    func kept() throws {
        for (path, methods) in operations {
            for (method, operation) in methods where method != "head" {
                for (status, answer) in try part("responses", of: operation) {
                    let answer = try part("answer", of: ["answer": answer])
                    let isKept = answer["x-send-again"] as? Bool == true
                    let isQuota = status == "403" && path.hasPrefix("/logstores/")
                    let keeps = ["429", "503"].contains(status) || isQuota
                    #expect(isKept == keeps, "\(path) \(status)")
                }
            }
        }
    }

    @Test("References lead to components, each component is used, and names are unique")
    func references() throws {
        var used: Set<String> = []
        for match in text.matches(of: /"\$ref": "#\/(components\/[a-z]+\/[A-Za-z0-9-]+)"/) {
            _ = try part(String(match.1))
            used.insert(String(match.1))
        }
        for kind in ["headers", "parameters", "responses", "schemas"] {
            let names = try part("components/\(kind)").keys
            #expect(names.filter { !used.contains("components/\(kind)/\($0)") } == [], "\(kind)")
        }
        let all = operations.values.flatMap(\.values)
        #expect(Set(all.compactMap { $0["operationId"] as? String }).count == all.count)
        let version = try part("info")["version"] as? String
        let other = try part("info", of: Self.object(Self.text("docs/openapi.json")))["version"]
        #expect(version != nil && version == other as? String)
    }
}
