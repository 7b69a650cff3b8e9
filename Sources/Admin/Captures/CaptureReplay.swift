import Configuration
import HTTP
import Ingest
import JSON
import System

/// What the filters and routes, the present or edited ones, would do with a captured request. Nothing is stored.
struct CaptureReplay: Sendable {
    private let record: CaptureRecord
    private let configuration: GatewayConfiguration
    private let isEdited: Bool
    private let question: RouteQuestion

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

    func answer(makesHashes: Bool) throws(HTTPProblem) -> Response {
        let tester = RouteTester(configuration, makesHashes: makesHashes)
        let findings = try tester.findings(question)
        var json = JSONWriter()
        json.object { json in
            json.member("dry", true)
            json.member("configuration", isEdited ? "edited" : "present")
            json.member("logs", findings.logs.count)
            json.member("left_out", record.logCount - findings.logs.count)
            json.array("changes") { json in
                for (number, pair) in zip(record.logs, findings.logs).enumerated() {
                    let change = Change(pair.0, pair.1)
                    guard !change.isEmpty else { continue }
                    json.object { json in
                        json.member("log", number)
                        json.change(change)
                    }
                }
            }
            json.members(RouteAnswer(findings))
        }
        return Response(json: json.text + "\n")
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

        var isEmpty: Bool { tag == nil && fields.isEmpty && destinations == nil }
    }
}

extension JSONWriter {
    fileprivate mutating func change(_ change: CaptureReplay.Change) {
        nullable("tag", change.tag) { json, tag in
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
        nullable("destinations", change.destinations) { json, places in
            json.array("was") { json in for name in places.was { json.element(name) } }
            json.array("is") { json in for name in places.is { json.element(name) } }
        }
    }
}
