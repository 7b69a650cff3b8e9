package import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

extension AdminCall {
    /// `POST /admin/routes/test` changes nothing: a reader may do it, and it is not audited.
    func testRoutes() throws(HTTPProblem) -> Response {
        let configuration = shared.reporter.configuration
        return Response(json: try RouteDesk.answer(body, configuration, makesHashes: isFull))
    }
}

/// Tests filters and routes: `POST /admin/routes/test`, or `sluice route` without a gateway.
package enum RouteDesk {
    /// `sluice route --config`: the answer, or the problem in one sentence.
    package static func offline(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration
    ) -> (isFine: Bool, text: String) {
        do throws(HTTPProblem) {
            let text = try answer(body, configuration, makesHashes: true)
            return (true, text)
        } catch {
            return (false, "\(error.message) (\(error.code))")
        }
    }

    fileprivate static func answer(
        _ body: [UInt8],
        _ configuration: GatewayConfiguration,
        makesHashes: Bool
    ) throws(HTTPProblem) -> String {
        let question = try RouteQuestion(json: body)
        let tester = RouteTester(configuration, makesHashes: makesHashes)
        return RouteAnswer(try tester.findings(question)).document
    }
}

extension RouteQuestion {
    private static let known = "tag, logs, topic, source, client_ip, key, receipt, request"
    private static let textBytesMax = 1024

    /// Reads the body of `POST /admin/routes/test`.
    init(json bytes: [UInt8]) throws(HTTPProblem) {
        var reader = JSONReader(bytes)
        var texts: [String: String] = [:]
        var logs: [[UInt8]]?
        guard reader.take("{") else {
            throw reader.misread(#"a JSON object is expected: {"tag":"pv.home","logs":[{}]}"#)
        }
        if !reader.take("}") {
            repeat {
                guard let name = reader.string(), reader.take(":") else {
                    throw reader.misread("a member's name and a colon are expected")
                }
                switch name {
                case "logs":
                    guard logs == nil else { throw .body("logs is given twice") }
                    logs = try reader.logs()
                case "tag", "topic", "source", "client_ip", "key", "receipt", "request":
                    guard texts[name] == nil else { throw .body("\(name) is given twice") }
                    guard let text = reader.string() else {
                        throw reader.misread("\(name) is a string")
                    }
                    guard text.utf8.count <= Self.textBytesMax else {
                        throw .body("\(name) has more than \(Self.textBytesMax) bytes")
                    }
                    texts[name] = text
                default: throw .body("\(clipped(name)) is not a member here; known: \(Self.known)")
                }
            } while reader.take(",")
            guard reader.take("}") else { throw reader.misread("a comma or } is expected") }
        }
        guard reader.isAtEnd else { throw reader.misread("something follows the object") }
        guard let tag = texts["tag"] else {
            throw .body(#"tag is missing; name the tag to be tested: {"tag":"pv.home"}"#)
        }
        guard let question = RouteQuestion(tag: tag) else {
            throw .body(
                "tag cannot be \(TerminalText.shown(tag, scalarsMax: 64)); \(Self.tagRule)"
            )
        }
        self = question
        self.logs = logs ?? []
        (topic, source, key) = (texts["topic"], texts["source"], texts["key"])
        if let text = texts["request"] {
            request = AskedRequest(text)
            guard request != nil else {
                throw .body(#"request begins with a method and a path, as in "POST /logs/x?a=1""#)
            }
        }
        (clientIP, receipt) = (texts["client_ip"] ?? "", texts["receipt"] ?? "")
    }
}

extension JSONReader {
    /// As deep as logs may be, and the array around them.
    private static let logDepthMax = 64

    fileprivate mutating func logs() throws(HTTPProblem) -> [[UInt8]] {
        guard take("[") else { throw misread("logs is an array of objects") }
        var logs: [[UInt8]] = []
        if take("]") { return logs }
        repeat {
            guard logs.count < RouteQuestion.logsMax else {
                throw .body("logs has more than \(RouteQuestion.logsMax) elements; send fewer")
            }
            guard let value = value(depthMax: Self.logDepthMax) else {
                throw misread("logs[\(logs.count)] cannot be read as JSON")
            }
            guard value.first == UInt8(ascii: "{") else {
                throw .body(
                    "logs[\(logs.count)] is no object; each log is an object of its fields"
                )
            }
            logs.append(Array(value))
        } while take(",")
        guard take("]") else { throw misread("logs: a comma or ] is expected") }
        return logs
    }

    fileprivate func misread(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, "PostBodyInvalid", reason, position: problem("").position)
    }
}
