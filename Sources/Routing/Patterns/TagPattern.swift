/// A pattern of tags, such as `pv.**`.
package struct TagPattern: Sendable, Equatable {
    package let text: String

    package init(_ text: String) throws(PatternProblem) {
        self.text = text
    }
}
