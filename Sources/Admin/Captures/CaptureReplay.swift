import Configuration
import HTTP
import Ingest
import JSON
import System

/// What the filters and routes, the present or edited ones, would do with a captured request. Nothing is stored.
struct CaptureReplay: Sendable {
    fileprivate let record: CaptureRecord
    fileprivate let configuration: GatewayConfiguration
    fileprivate let isEdited: Bool
    fileprivate let question: RouteQuestion

    /// The body has the edited `filters`, `routes` and `unrouted`, as the configuration would; it may be empty.
    init(
        _ record: CaptureRecord,
        _ body: [UInt8],
        _ present: GatewayConfiguration
    ) throws(HTTPProblem) {
        self.record = record
        isEdited = !body.isEmpty
        if body.isEmpty {
            configuration = present
        } else {
            do throws(ConfigurationProblems) {
                configuration = try present.withRouting(json: body)
            } catch {
                throw HTTPProblem(400, "ConfigurationInvalid", error.description)
            }
        }
        question = try RouteQuestion(of: record, present.devices)
    }

    fileprivate func text(_ findings: RouteFindings) -> String {
        var lines = [
            "record \(record.number) under the \(isEdited ? "edited" : "present") filters and routes; nothing is stored"
        ]
        for (number, pair) in zip(record.logs, findings.logs).enumerated() {
            lines += Change(pair.0, pair.1).lines.map { "  log \(number + 1): \($0)" }
        }
        if lines.count == 1 { lines.append("  nothing changes") }
        return lines.joined(separator: "\n") + "\n\n" + RouteAnswer(findings).text
    }

    /// How a log would fare otherwise than it did.
    struct Change {
        let tag: (was: String, is: String)?
        let fields: [(name: String, was: String?, is: String?)]
        let destinations: (was: [String], is: [String])?

        init(_ was: CaptureRecord.Log, _ now: RouteFindings.Log) {
            tag = was.tag == now.tag || now.isFiltered ? nil : (was.tag, now.tag)
            let kept = now.places.filter { $0.outcome != .passedOver }.map(\.destination)
            destinations =
                Set(was.destinations) == Set(kept) ? nil : (was.destinations, kept)
            guard !was.wasTooLong else {
                fields = []
                return
            }
            let before = Dictionary(was.after ?? []) { _, last in last }
            let after = Dictionary(now.isFiltered ? [] : now.fields.map { ($0.name, $0.value) }) {
                _,
                last in last
            }
            fields = Set(before.keys).union(after.keys).sorted().compactMap { name in
                // The time is no field to filters.
                guard name != "__time__", before[name] != after[name] else { return nil }
                return (name, before[name], after[name])
            }
        }

        var lines: [String] {
            var lines = fields.map { field in
                "\(printable(field.name)): \(field.was.map(printable) ?? "-") -> "
                    + (field.is.map(printable) ?? "-")
            }
            if let tag { lines.append("tag: \(printable(tag.was)) -> \(printable(tag.is))") }
            if let destinations {
                let (was, now) = (destinations.was, destinations.is)
                lines.append(
                    "destinations: \(was.isEmpty ? "none" : was.joined(separator: ", ")) -> "
                        + (now.isEmpty ? "none" : now.joined(separator: ", "))
                )
            }
            return lines
        }

        var isEmpty: Bool { tag == nil && fields.isEmpty && destinations == nil }
    }
}

extension AdminRequest {
    func answer(_ replay: CaptureReplay) throws(HTTPProblem) -> Response {
        let tester = RouteTester(replay.configuration, makesHashes: isFull)
        let findings = try tester.findings(replay.question)
        return answer(text: replay.text(findings)) { json in
            json.member("dry", true)
            json.member("configuration", replay.isEdited ? "edited" : "present")
            json.member("logs", findings.logs.count)
            json.member("left_out", replay.record.logCount - findings.logs.count)
            json.array("changes") { json in
                for (number, pair) in zip(replay.record.logs, findings.logs).enumerated() {
                    let change = CaptureReplay.Change(pair.0, pair.1)
                    guard !change.isEmpty else { continue }
                    json.object { json in
                        json.member("log", number)
                        json.change(change)
                    }
                }
            }
            json.members(RouteAnswer(findings))
        }
    }
}

extension JSONWriter {
    fileprivate mutating func change(_ change: CaptureReplay.Change) {
        object("tag", ifAny: change.tag) { json, tag in
            json.member("was", tag.was)
            json.member("is", tag.is)
        }
        object("fields") { json in
            for field in change.fields {
                json.object(field.name) { json in
                    json.member("was", field.was)
                    json.member("is", field.is)
                }
            }
        }
        object("destinations", ifAny: change.destinations) { json, places in
            json.texts("was", places.was)
            json.texts("is", places.is)
        }
    }
}
