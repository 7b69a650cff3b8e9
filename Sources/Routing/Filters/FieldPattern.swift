/// Names of fields: a name, or one with `*` for any text, such as `debug_*`.
package struct FieldPattern: Sendable, Equatable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }
}
