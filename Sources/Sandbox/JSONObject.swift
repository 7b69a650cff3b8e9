/// A JSON object under construction; absent values are left out.
struct JSONObject {
    private(set) var text = JSONText()
    private var isEmpty = true

    init() { text.append("{") }

    private mutating func begin(_ name: String) {
        if !isEmpty { text.append(",") }
        isEmpty = false
        text.append(quoting: name)
        text.append(":")
    }

    mutating func add(_ name: String, _ value: String?) {
        guard let value else { return }
        begin(name)
        text.append(quoting: value)
    }

    mutating func add(_ name: String, _ value: Int?) {
        guard let value else { return }
        begin(name)
        text.append("\(value)".utf8)
    }

    mutating func add(_ name: String, _ value: Double?) {
        guard let value else { return }
        begin(name)
        text.append("\(value)".utf8)
    }

    mutating func add(_ name: String, _ value: Bool) {
        begin(name)
        text.append(value ? "true" : "false")
    }

    mutating func add(_ name: String, _ value: JSONText) {
        begin(name)
        text.append(value.bytes)
    }

    mutating func add(_ name: String, _ counts: [(String, Int)]) {
        var object = JSONObject()
        for (name, count) in counts { object.add(name, count) }
        add(name, object.finished)
    }

    mutating func add(_ name: String, _ objects: [JSONObject]) {
        var list = JSONText()
        list.append("[")
        for (index, object) in objects.enumerated() {
            if index > 0 { list.append(",") }
            list.append(object.finished.bytes)
        }
        list.append("]")
        add(name, list)
    }

    var finished: JSONText {
        var text = text
        text.append("}")
        return text
    }
}
