package import JSON
import Logs
package import Routing

extension JSONWriter {
    /// Filters and routes in the words of the configuration file, without the secret.
    package mutating func rules(_ rules: RoutingRules) {
        array("filters") { json in
            for filter in rules.filters { json.object { $0.filter(filter) } }
        }
        if let routes = rules.routes {
            array("routes") { json in
                for route in routes { json.object { $0.route(route) } }
            }
        } else {
            member("routes", nil as String?)
        }
        member("unrouted", rules.unrouted.rawValue)
    }

    private mutating func filter(_ filter: Filter) {
        member("name", filter.name)
        match("match", filter.patterns)
        array("steps") { json in
            for step in filter.steps { json.object { $0.step(step) } }
        }
        member("on_error", filter.onError.rawValue)
    }

    private mutating func route(_ route: Route) {
        match("match", route.patterns)
        texts("to", route.destinations)
        member("last", route.isLast)
    }

    private mutating func match(_ name: String, _ patterns: [TagPattern]) {
        if !patterns.isEmpty { texts(name, patterns.map(\.text)) }
    }

    private mutating func texts(_ name: String, _ texts: [String]) {
        array(name) { json in for text in texts { json.element(text) } }
    }

    /// The members of a step.
    package mutating func step(_ step: FilterStep) {
        switch step.action {
        case .add(let fields):
            object("add") { json in for each in fields { json.member(each.field, each.value.text) }
            }
        case .set(let fields):
            object("set") { json in for each in fields { json.member(each.field, each.value.text) }
            }
        case .rename(let names):
            object("rename") { json in for each in names { json.member(each.old, each.new) } }
        case .remove(let fields): texts("remove", fields.map(\.text))
        case .keep(let fields): texts("keep", fields.map(\.text))
        case .redact(let redaction): group("redact", redaction)
        case .parse(let parsing): object("parse") { $0.parsing(parsing) }
        case .truncate(let truncation): group("truncate", truncation)
        case .sample(let sampling): group("sample", sampling)
        case .drop: member("drop", true)
        case .tag(let template): member("tag", template.text)
        case .split(let splitting): group("split", splitting)
        case .time(let field, let format):
            object("time") { json in
                json.member("field", field)
                json.member("format", format.text)
            }
        case .topic(let template): member("topic", template.text)
        case .source(let template): member("source", template.text)
        }
        if let condition = step.condition { object("when") { $0.condition(condition) } }
    }

    private mutating func group(_ name: String, _ group: some StepGroup) {
        member(name, SettingValue.present(group.shown))
    }

    private mutating func parsing(_ parsing: Parsing) {
        member("field", parsing.field)
        switch parsing.format {
        case .json: member("as", "json")
        case .keyValue: member("as", "kv")
        case .regex(let pattern):
            member("as", "regex")
            member("pattern", pattern.text)
        }
        if !parsing.prefix.isEmpty { member("prefix", parsing.prefix) }
        member("remove", parsing.removesSource)
    }

    private mutating func condition(_ condition: Condition) {
        switch condition {
        case .field(let name, let test):
            member("field", name)
            self.test(test)
        case .request(let part, let test):
            switch part {
            case .query(let name): member("query", name)
            case .header(let name): member("header", name)
            case .host, .method, .path: return like("\(part)", test)
            }
            self.test(test)
        case .tag(let patterns): match("tag", patterns)
        case .all(let inner): conditions("all", inner)
        case .any(let inner): conditions("any", inner)
        case .not(let inner): object("not") { $0.condition(inner) }
        }
    }

    private mutating func test(_ test: FieldTest) {
        switch test {
        case .exists(let exists): member("exists", exists)
        case .isOneOf(let values) where values.count == 1: member("is", values[0])
        case .isOneOf(let values): texts("in", values)
        case .isLike(let values): texts("like", values)
        case .matches(let pattern): member("matches", pattern.text)
        case .atLeast(let number): member("at_least", number: "\(number)")
        case .atMost(let number): member("at_most", number: "\(number)")
        }
    }

    private mutating func like(_ name: String, _ test: FieldTest) {
        if case .isLike(let values) = test { texts(name, values) }
    }

    private mutating func conditions(_ name: String, _ conditions: [Condition]) {
        array(name) { json in
            for condition in conditions { json.object { $0.condition(condition) } }
        }
    }
}
