import Routing

/// A condition as the file has it: `when` of a step, or a condition within one.
struct ConditionEntry: SettingGroup {
    static let depthMax = 8
    private static let kinds = [
        "field", "query", "header", "host", "method", "path", "tag", "all", "any", "not",
    ]
    /// The kinds that compare a text, by `is`, `in` and so on; the others say all themselves.
    private static let subjects: Set = ["field", "query", "header"]
    private static let keys = settings.map(\.description.key)

    private var depth = 1
    private var field: String?
    private var part: RequestPart?
    private var tests: [FieldTest] = []
    /// What is no test of a field.
    private var other: Condition?

    static var settings: [Setting<ConditionEntry>] {
        Setting("field", \.field, .fieldName) {
            "the field that the following are about; all that are given must hold"
        }
        Setting("query", \.part, Kind<RequestPart>.query) {
            "in place of `field`: the parameter in the request's query that the following are about"
        }
        Setting("header", \.part, Kind<RequestPart>.header) {
            "in place of `field`: the request's header field, one of `filters_headers`"
        }
        likeness("host", .host) { "the request's `Host` without the port, as `method`" }
        likeness("method", .method) {
            "the request's method, or a list of them; `*` stands for any text, as in `/logs/pv.*` of `path`"
        }
        likeness("path", .path) {
            "the request's path as it was sent, without the query, as `method`"
        }
        test("exists", .boolean, FieldTest.exists) {
            "`true`: the log has the field; `false`: it has not"
        }
        test("is", .text(upTo: 16 << 10), { .isOneOf([$0]) }) { "the value, in whole" }
        Setting("in", .shaped("a list of texts", .list(of: .text(), count: 1...256))) {
            "up to 256 values: the field has one of them"
        } read: { section, entry in
            entry.add(section.list("in", .text(upTo: 16 << 10), counts: 1...256)) { .isOneOf($0) }
        }
        test("matches", .textPattern, FieldTest.matches) {
            "a regular expression of RE2 for any part of the value; `^` and `$` are its ends"
        }
        test("at_least", .decimal, FieldTest.atLeast) { "the value is a number, and not less" }
        test("at_most", .decimal, FieldTest.atMost) { "the value is a number, and not more" }
        Setting(
            "tag",
            .shaped(
                "\(Kind<TagPattern>.tagPattern.wants), or a list of them",
                .list(of: .text(), count: 1...64)
            )
        ) {
            "a pattern for the log's tag or a list of them, as in `match`"
        } read: {
            $1.take($0.tagPatterns("tag")) { .tag($0) }
        }
        list("all", Condition.all) { "a list of conditions: all must hold" }
        list("any", Condition.any) { "a list of conditions: at least one must hold" }
        Setting("not", .shaped("a condition", .condition)) {
            "a condition that must not hold. Conditions are nested up to 8 deep"
        } read: { section, entry in
            section.know("not")
            guard section.has("not"), let inner = entry.inner(section, "not") else { return false }
            return entry.take(read(section.section("not"), over: inner).condition) { .not($0) }
        }
    }

    var condition: Condition? {
        let conditions: [Condition]
        if let field {
            conditions = tests.map { .field(field, $0) }
        } else if let part {
            conditions = tests.map { .request(part, $0) }
        } else {
            return other
        }
        return conditions.count > 1 ? .all(conditions) : conditions.first
    }

    func check(_ section: borrowing Section) {
        guard !section.report.hasProblem(with: section.path) else { return }
        section.refuseEmpty()
        let given = section.names.filter(Self.kinds.contains)
        if let second = given.dropFirst().first {
            section.problem(second) {
                "a condition has one of \(Self.kinds.joined(separator: ", ")), and this one has "
                "\(given.joined(separator: " and ")); join them as in all: [{ … }, { … }]"
            }
        }
        // A key that is not known may have been meant.
        guard section.names.allSatisfy(Self.keys.contains) else { return }
        if case .header(let name) = part, !section.report.filtersHeaders.contains(name) {
            section.problem("header", "\(name) is not in filters_headers; list it there")
        }
        let tests = section.names.filter { !Self.kinds.contains($0) }
        if given.isEmpty, let first = tests.first {
            section.problem(first, "is about a field; name it, as in { field: level, \(first): … }")
        } else if given.isEmpty {
            section.report.add(section.ownPlace, key: section.path) {
                "says nothing; give one of \(Self.kinds.joined(separator: ", "))"
            }
        } else if given.count == 1, Self.subjects.contains(given[0]), tests.isEmpty {
            section.problem(given[0]) {
                "is not compared; give exists, is, in, matches, at_least or at_most"
            }
        } else if Self.subjects.isDisjoint(with: given), let first = tests.first {
            section.problem(first, "is about a field, and the condition has \(given[0]) instead")
        }
    }

    // MARK: - Rows

    private static func test<Value>(
        _ key: String,
        _ kind: Kind<Value>,
        _ test: @escaping (Value) -> FieldTest,
        help: () -> String
    ) -> Setting<ConditionEntry> {
        Setting(key, .shaped(kind.wants, kind.shape)) {
            help()
        } read: {
            $1.add($0.value(key, kind), test)
        }
    }

    private static func likeness(
        _ key: String,
        _ part: RequestPart,
        help: () -> String
    ) -> Setting<ConditionEntry> {
        let kind = Kind<String>.text(upTo: 1024)
        return Setting(
            key,
            .shaped("a text, perhaps with *, or a list of them", .list(of: .text(), count: 1...64))
        ) {
            help()
        } read: { section, entry in
            section.know(key)
            guard section.has(key) else { return false }
            return entry.take(section.list(key, kind, counts: 1...64)) {
                .request(part, .isLike(part == .host ? $0.map { $0.lowercased() } : $0))
            }
        }
    }

    private static func list(
        _ key: String,
        _ join: @escaping ([Condition]) -> Condition,
        help: () -> String
    ) -> Setting<ConditionEntry> {
        Setting(key, .shaped("a list of conditions", .conditions)) {
            help()
        } read: { section, entry in
            section.know(key)
            guard section.has(key), let inner = entry.inner(section, key) else { return false }
            var conditions: [Condition] = []
            section.groups(key, max: 64) { item in
                if let condition = read(item, over: inner).condition {
                    conditions.append(condition)
                }
            }
            return entry.take(conditions) { join($0) }
        }
    }

    /// What a condition within this one begins with; nil, and a report, where that is too deep.
    private func inner(_ section: borrowing Section, _ key: String) -> ConditionEntry? {
        guard depth < Self.depthMax else {
            section.problem(key) {
                "conditions are nested more than \(Self.depthMax) deep; make a step or a filter of "
                "some of them"
            }
            return nil
        }
        var inner = ConditionEntry()
        inner.depth = depth + 1
        return inner
    }

    private mutating func add<Value>(_ value: Value?, _ test: (Value) -> FieldTest) -> Bool {
        guard let value else { return false }
        tests.append(test(value))
        return true
    }

    private mutating func take<Value>(_ value: Value?, _ condition: (Value) -> Condition) -> Bool {
        guard let value else { return false }
        other = condition(value)
        return true
    }
}

extension Kind<RequestPart> {
    fileprivate static var query: Kind {
        Kind(wants: "the name of a parameter") { text throws(Mismatch) in
            .query(try Kind<String>.fieldName.parse(text))
        }
    }

    fileprivate static var header: Kind {
        Kind(wants: Kind<String>.headerName.wants) { text throws(Mismatch) in
            .header(try Kind<String>.headerName.parse(text))
        }
    }
}
