import Configuration
import HTTP
import Ingest
import JSON
import Operations
import System

extension AdminCall {
    /// What the filters and routes, the present or edited ones, would do with a captured request.
    /// Nothing is stored. The body has the edited `filters`, `routes` and `unrouted`, as the
    /// configuration would; it may be empty.
    func dryReplay(of record: CaptureRecord) throws(HTTPProblem) -> Response {
        var configuration = shared.reporter.configuration
        let rules = body.isEmpty ? "present" : "edited"
        if !body.isEmpty {
            do throws(ConfigurationProblems) {
                configuration = try configuration.withRouting(json: body)
            } catch {
                throw HTTPProblem(400, "ConfigurationInvalid", error.description)
            }
        }
        let question = try RouteQuestion(of: record, configuration.devices)
        let findings = try RouteTester(configuration, makesHashes: isFull).findings(question)
        let changes = zip(record.logs, findings.logs).map { ReplayChange($0, $1) }.enumerated()
            .filter { !$0.element.isEmpty }
        return .json { json in
            json.member("dry", true)
            json.member("configuration", rules)
            json.member("logs", findings.logs.count)
            json.member("left_out", record.logCount - findings.logs.count)
            json.objects("changes", changes) { json, change in
                json.member("log", change.offset)
                json.change(change.element)
            }
            json.members(RouteAnswer(findings))
        }
    }
}

/// How a log would fare otherwise than it did.
private struct ReplayChange {
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

extension JSONWriter {
    fileprivate mutating func change(_ change: ReplayChange) {
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
