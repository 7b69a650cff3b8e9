import HTTP
import Ingest
import JSON
import Net
import Routing
import System

/// The body of `POST /admin/captures`: what to capture, and when to stop.
struct CaptureRequest {
    private static let textBytesMax = 256

    var filter = CaptureFilter()
    var limits = CaptureSession.Limits()

    init(_ body: [UInt8]) throws(HTTPProblem) {
        guard !body.isEmpty else { return }
        let document: JSONValue
        do throws(JSONProblem) {
            document = try JSONValue(parsing: body, depthMax: 4)
        } catch {
            throw HTTPProblem(400, "PostBodyInvalid", error.reason, position: error.position)
        }
        guard case .object(let members) = document else {
            throw .body("a JSON object is expected, got \(document.kind)")
        }
        for member in members where member.value != .null {
            switch member.name {
            case "filter": try readFilter(member.value)
            case "records":
                limits.records = try Self.number(member, 1...CaptureSession.Limits.recordsMax)
            case "bytes":
                limits.bytes = try Self.number(member, 1...CaptureSession.Limits.bytesMost)
            case "seconds":
                let most = Int(CaptureSession.Limits.timeMax.inSeconds)
                limits.time = .seconds(try Self.number(member, 1...most))
            default:
                throw .body(
                    "\(clipped(member.name)) is not a member here; known: filter, records, bytes, seconds"
                )
            }
        }
    }

    private mutating func readFilter(_ value: JSONValue) throws(HTTPProblem) {
        guard case .object(let members) = value else {
            throw .body("filter is an object, got \(value.kind)")
        }
        for member in members where member.value != .null {
            switch member.name {
            case "path": filter.path = try Self.text(member)
            case "host": filter.host = try Self.text(member).lowercased()
            case "key": filter.key = try Self.text(member)
            case "text": filter.text = try Self.text(member)
            case "tag": filter.tag = try Self.pattern(try Self.text(member))
            case "address": filter.address = try Self.range(try Self.text(member))
            case "status": filter.status = try Self.status(member.value)
            default:
                throw .body(
                    "filter.\(clipped(member.name)) is not known; known: path, host, tag, key, address, status, text"
                )
            }
        }
    }

    private static func text(_ member: JSONValue.Member) throws(HTTPProblem) -> String {
        guard let text = member.value.text, (1...textBytesMax).contains(text.utf8.count) else {
            throw .body("filter.\(member.name) is a text of 1 to \(textBytesMax) bytes")
        }
        return text
    }

    private static func pattern(_ text: String) throws(HTTPProblem) -> TagPattern {
        do throws(PatternProblem) {
            return try TagPattern(text)
        } catch {
            throw .body("filter.tag: \(error.reason) at byte \(error.position)")
        }
    }

    private static func range(_ text: String) throws(HTTPProblem) -> AddressRange {
        if let address = IPAddress(text) { return AddressRange(address, bits: 128) }
        do throws(AddressRangeError) {
            return try AddressRange(parsing: text)
        } catch {
            throw .body("filter.address: \(clipped(text)) \(error.description)")
        }
    }

    /// 404, "404" or "4xx".
    private static func status(_ value: JSONValue) throws(HTTPProblem) -> Int {
        let text = value.text ?? value.wholeNumber.map { "\($0)" } ?? ""
        if text.count == 3, text.hasSuffix("xx"), let digit = Int(text.prefix(1)),
            (1...5).contains(digit)
        {
            return digit
        }
        guard let status = Int(text), (100...599).contains(status) else {
            throw .body("filter.status is a status such as 404, or a class such as \"4xx\"")
        }
        return status
    }

    private static func number(
        _ member: JSONValue.Member,
        _ range: ClosedRange<Int>
    ) throws(HTTPProblem) -> Int {
        guard let number = member.value.wholeNumber, range.contains(number) else {
            throw .body(
                "\(member.name) is a number from \(range.lowerBound) to \(range.upperBound)"
            )
        }
        return number
    }
}
