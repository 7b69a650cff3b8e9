import Logs

/// The filters of a router, made ready for logs: names are numbers, texts are bytes.
///
/// Each thread has its own: counting references to one program on several processors would cost
/// more than many steps.
struct FilterProgram {
    struct Filter {
        let name: String
        let steps: [Step]
        let onError: Routing.Filter.OnError

        var coversStreams: Bool { steps.contains(where: \.coversStreams) }
    }

    struct Step {
        let action: Action
        let condition: CompiledCondition?
        /// The step also applies to topic, source and tags.
        let coversStreams: Bool

        /// The step takes something away from what is stored.
        var isRedaction: Bool {
            switch action {
            case .redact, .remove, .keep: true
            default: false
            }
        }
    }

    enum Action {
        case add([Assignment])
        case set([Assignment])
        case rename([(old: Int, new: NewName)])
        case remove(FieldSelector)
        case keep(FieldSelector)
        case redact(Redactor)
        case parse(Parser)
        case truncate(FieldSelector, bytes: Int)
        case sample(keep: Int, by: Int?)
        case drop
        case tag(CompiledTemplate)
        case split(Splitter)
        case time(field: Int, TimeFormat)
        case topic(CompiledTemplate)
        case source(CompiledTemplate)
    }

    struct Assignment {
        let name: NewName
        let value: CompiledTemplate
    }

    struct Splitter {
        let field: Int
        let name: NewName
        let most: Int
    }

    struct Parser {
        enum Format {
            case json, keyValue
            /// The fields of the pattern's named groups.
            case regex(TextPattern, [(group: Int, name: NewName)])
        }

        let field: Int
        let format: Format
        let prefix: DraftText
        let removesSource: Bool
    }

    let filters: [Filter]
    let texts: TextIndex
    /// What conditions ask of a request.
    let parts: [RequestPart]
    /// Units of `TrialWork` for a new tag or new labels.
    let tagWork: Int

    init(_ router: Router) {
        let rules = router.rules
        var compiler = FilterCompiler(router)
        // The first run only learns the texts, whose places are then known in the second one.
        _ = compiler.filters(rules.filters)
        compiler.fixTexts()
        filters = compiler.filters(rules.filters)
        texts = compiler.index
        parts = compiler.parts
        for route in rules.routes ?? [] { compiler.addTagWork(route.patterns) }
        tagWork = compiler.tagWork
    }
}

extension FilterStep.Action {
    fileprivate var coversStreams: Bool {
        switch self {
        case .remove(let fields): fields.contains(where: \.coversStreams)
        case .redact(let redaction): redaction.fields.contains(where: \.coversStreams)
        default: false
        }
    }
}

/// Text with places, where the texts are those of the program.
struct CompiledTemplate {
    enum Part {
        case text(DraftText)
        case field(Int)
        case tag, captured, clientIP, key, receipt
    }

    let parts: [Part]
    /// The value of a template without places.
    let constant: DraftText?
}

struct FilterCompiler {
    let router: Router
    private var numbers: [ByteText: Int] = [:]
    private var all: [[UInt8]] = []
    private(set) var index = TextIndex([])
    private var isFixed = false
    private(set) var parts: [RequestPart] = []
    private(set) var tagWork = 0

    init(_ router: Router) {
        self.router = router
    }

    mutating func fixTexts() {
        index = TextIndex(all)
        isFixed = true
    }

    mutating func number(_ text: String) -> Int {
        if let known = numbers[ByteText(text)] { return known }
        numbers[ByteText(text)] = all.count
        all.append(Array(text.utf8))
        return all.count - 1
    }

    mutating func number(_ part: RequestPart) -> Int {
        if let known = parts.firstIndex(of: part) { return known }
        parts.append(part)
        return parts.count - 1
    }

    /// A new tag's plan asks each pattern, and a tag has at most 128 bytes.
    mutating func addTagWork(_ patterns: [TagPattern]) {
        tagWork += patterns.reduce(256) { $0 + 512 + 1024 * $1.instructions }
    }

    mutating func text(_ text: String) -> DraftText {
        let number = number(text)
        return isFixed ? DraftText(ofProgram: index.place(number)) : .empty
    }

    mutating func filters(_ filters: [Filter]) -> [FilterProgram.Filter] {
        filters.map { filter in
            addTagWork(filter.patterns)
            tagWork += 64 * filter.steps.count
            return FilterProgram.Filter(
                name: filter.name,
                steps: filter.steps.map { step in
                    FilterProgram.Step(
                        action: action(step.action),
                        condition: step.condition.map { condition($0) },
                        coversStreams: step.action.coversStreams
                    )
                },
                onError: filter.onError
            )
        }
    }

    private mutating func action(_ action: FilterStep.Action) -> FilterProgram.Action {
        switch action {
        case .add(let assignments): .add(assignments.map { assignment($0) })
        case .set(let assignments): .set(assignments.map { assignment($0) })
        case .rename(let renamings):
            .rename(renamings.map { (old: number($0.old), new: newName($0.new)) })
        case .remove(let fields): .remove(selector(fields))
        case .keep(let fields): .keep(selector(fields))
        case .redact(let redaction): .redact(redactor(redaction))
        case .parse(let parsing): .parse(parser(parsing))
        case .truncate(let truncation):
            .truncate(selector(truncation.fields), bytes: truncation.bytes)
        case .sample(let sampling):
            .sample(keep: sampling.keep, by: sampling.field.map { number($0) })
        case .drop: .drop
        case .tag(let tag): .tag(template(tag))
        case .split(let splitting):
            .split(
                FilterProgram.Splitter(
                    field: number(splitting.field),
                    name: newName(splitting.name),
                    most: splitting.most
                )
            )
        case .time(let field, let format): .time(field: number(field), format)
        case .topic(let topic): .topic(template(topic))
        case .source(let source): .source(template(source))
        }
    }

    private mutating func selector(_ fields: [FieldPattern]) -> FieldSelector {
        FieldSelector(fields) { number($0) }
    }

    private mutating func assignment(_ assignment: Assignment) -> FilterProgram.Assignment {
        FilterProgram.Assignment(
            name: newName(assignment.field),
            value: template(assignment.value)
        )
    }

    /// Names that SLS keeps for itself become those that decoders give them. One that is too long
    /// fails its step.
    private mutating func newName(_ name: String) -> NewName {
        let stored = FieldName.storable(name, bytesMax: .max)
        return NewName(text: text(stored), number: number(stored))
    }

    private mutating func template(_ template: Template) -> CompiledTemplate {
        let parts = template.parts.map { part -> CompiledTemplate.Part in
            switch part {
            case .text(let text): .text(self.text(text))
            case .tag: .tag
            case .captured: .captured
            case .field(let name): .field(number(name))
            case .clientIP: .clientIP
            case .key: .key
            case .receipt: .receipt
            }
        }
        return switch (parts.count, parts.first) {
        case (0, _): CompiledTemplate(parts: parts, constant: .empty)
        case (1, .text(let text)): CompiledTemplate(parts: parts, constant: text)
        default: CompiledTemplate(parts: parts, constant: nil)
        }
    }

    private mutating func redactor(_ redaction: Redaction) -> Redactor {
        let replacement: Redactor.Replacement =
            switch redaction.with {
            case .mask: .mask
            case .hash: .hash(router.rules.secret)
            case .remove: .text(.empty)
            case .text(let replacement): .text(text(replacement))
            }
        let fields = redaction.fields + [FieldPattern("__raw_log__")]
        return Redactor(fields: selector(fields), what: redaction.what, with: replacement)
    }

    private mutating func parser(_ parsing: Parsing) -> FilterProgram.Parser {
        let format: FilterProgram.Parser.Format =
            switch parsing.format {
            case .json: .json
            case .keyValue: .keyValue
            case .regex(let pattern):
                .regex(
                    pattern,
                    pattern.groups.map { group in
                        (group: group.number, name: newName(parsing.prefix + group.name))
                    }
                )
            }
        return FilterProgram.Parser(
            field: number(parsing.field),
            format: format,
            prefix: text(parsing.prefix),
            removesSource: parsing.removesSource
        )
    }

    // MARK: - Conditions

    mutating func condition(_ condition: Condition) -> CompiledCondition {
        switch condition {
        case .field(let name, let test): .field(number(name), compiled(test))
        case .tag(let patterns): tagged(patterns)
        case .request(let part, let test): .request(number(part), compiled(test))
        case .all(let conditions): .all(conditions.map { self.condition($0) })
        case .any(let conditions): .any(conditions.map { self.condition($0) })
        case .not(let inner): .not(self.condition(inner))
        }
    }

    private mutating func tagged(_ patterns: [TagPattern]) -> CompiledCondition {
        addTagWork(patterns)
        // A router knows all conditions of its rules.
        return router.condition(patterns).map { .tag($0) } ?? .any([])
    }

    private func compiled(_ test: FieldTest) -> CompiledCondition.Test {
        switch test {
        case .exists(let wanted): .exists(wanted)
        case .isLike(let texts): .isLike(texts.map { NameGlob($0) })
        case .isOneOf(let texts): .isOneOf(TextIndex(texts.map { Array($0.utf8) }))
        case .matches(let pattern): .matches(pattern)
        case .atLeast(let bound): .atLeast(bound)
        case .atMost(let bound): .atMost(bound)
        }
    }
}
