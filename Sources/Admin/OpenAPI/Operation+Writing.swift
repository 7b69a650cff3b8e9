import HTTP
import JSON

extension JSONWriter {
    mutating func path(_ item: PathItem) {
        object(item.template) { json in
            for operation in item.operations {
                json.object(operation.method.name.lowercased()) { $0.operation(operation) }
            }
        }
    }

    private mutating func operation(_ operation: Operation) {
        member("operationId", operation.id)
        member("summary", operation.says)
        if operation.isOpen { array("security") { _ in } }
        if !operation.parameters.isEmpty {
            array("parameters") { json in
                for parameter in operation.parameters { json.object { $0.parameter(parameter) } }
            }
        }
        if let body = operation.body {
            object("requestBody") { json in
                json.member("required", body.isRequired)
                json.content(body.types.map { ($0, body.schema) })
            }
        }
        object("responses") { json in
            for answer in operation.allAnswers {
                json.object("\(answer.status)") { $0.answer(answer) }
            }
        }
    }

    private mutating func parameter(_ parameter: Operation.Parameter) {
        member("name", parameter.name)
        member("in", parameter.place.rawValue)
        member("required", parameter.place == .path)
        member("description", parameter.says)
        schema("schema", parameter.schema)
        if let example = parameter.example { member("example", example) }
    }

    private mutating func answer(_ answer: DocumentedAnswer) {
        member("description", answer.says)
        if !answer.headers.isEmpty {
            object("headers") { json in
                for name in answer.headers {
                    json.object(name) { $0.member("$ref", "#/components/headers/\(name)") }
                }
            }
        }
        if !answer.contents.isEmpty { content(answer.contents) }
        if !answer.links.isEmpty {
            object("links") { json in
                for link in answer.links { json.object(link.name) { $0.link(link) } }
            }
        }
    }

    private mutating func link(_ link: Link) {
        member("operationId", link.operation)
        object("parameters") { json in
            for (name, expression) in link.parameters { json.member(name, expression) }
        }
    }

    private mutating func content(_ contents: [(type: String, schema: Schema)]) {
        object("content") { json in
            for (type, schema) in contents { json.object(type) { $0.schema("schema", schema) } }
        }
    }
}
